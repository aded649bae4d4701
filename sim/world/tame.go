package world

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// script is a Lua script.
type script struct {
	source, digest string
	code           *lua.FunctionProto // nil: it is not tame
}

var (
	compiledMu sync.Mutex
	compiledBy = map[string]*script{} // by source
)

// compiled compiles a script, once in the life of the process.
func compiled(source string) *script {
	compiledMu.Lock()
	defer compiledMu.Unlock()
	s := compiledBy[source]
	if s == nil {
		sum := sha1.Sum([]byte(source))
		s = &script{source: source, digest: hex.EncodeToString(sum[:])}
		if chunk, err := parse.Parse(strings.NewReader(source), "<string>"); err == nil {
			numbered(chunk)
			if code, err := lua.Compile(chunk, ""); err == nil && tame(code) {
				code.IsVarArg &^= lua.VarArgNeedsArg // the table arg of Lua 5.0, which no Redis has, made for each run
				s.code = code
			}
		}
		compiledBy[source] = s
	}
	return s
}

// tame reports whether code can do nothing that another script could notice. It sets no global, and
// those that it reads are its KEYS and ARGV, functions, or one of the libraries, of which it takes one
// of the functions listed, or a constant, at once: it never has the library itself in its hands,
// neither to change it nor to hand it on. With none of these can it get at another table than its own.
// Nor has it any of the commands that [scripts] looks at.
func tame(code *lua.FunctionProto) bool {
	for i, in := range code.Code {
		switch op(in) {
		case lua.OP_SETGLOBAL:
			return false
		case lua.OP_GETGLOBAL:
			global := text(code, bx(in))
			if slices.Contains(harmless, global) {
				continue
			}
			next := code.Code[i+1] // there is one: code ends with a return
			if op(next) != lua.OP_GETTABLEKS || b(next) != a(in) || a(next) != a(in) || c(next) < constants ||
				!slices.Contains(libraries[global], text(code, c(next)-constants)) {
				return false
			}
		}
	}
	for _, v := range code.Constants {
		if word, ok := v.(lua.LString); ok && minded[strings.ToUpper(string(word))] {
			return false
		}
	}
	return !slices.ContainsFunc(code.FunctionPrototypes, func(f *lua.FunctionProto) bool { return !tame(f) })
}

var harmless = []string{"KEYS", "ARGV", "assert", "error", "ipairs", "next", "pairs", "pcall", "tonumber", "tostring", "type", "unpack"}

var libraries = map[string][]string{
	"redis":  {"call", "pcall", "error_reply", "status_reply"},
	"string": {"byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper"},
	"table":  {"concat", "getn", "insert", "maxn", "remove", "sort"},
	"math":   {"abs", "ceil", "floor", "fmod", "huge", "max", "min", "pi", "pow", "sqrt"},
}

// An instruction has, from its highest bit on, the operation and its operands, either a, c and b or a
// and bx. An operand c of constants and more stands for a constant of the code.
func op(in uint32) int { return int(in >> 26) }
func a(in uint32) int  { return int(in>>18) & 0xff }
func c(in uint32) int  { return int(in>>9) & 0x1ff }
func b(in uint32) int  { return int(in) & 0x1ff }
func bx(in uint32) int { return int(in) & 0x3ffff }

const constants = 0x100

func text(code *lua.FunctionProto, constant int) string {
	if constant >= len(code.Constants) {
		return ""
	}
	s, _ := code.Constants[constant].(lua.LString)
	return string(s)
}
