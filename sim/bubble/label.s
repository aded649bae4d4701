// A function without a body needs a file in assembler beside it.
