package network

// ParseCommand is parseCommand, for fuzzing.
var ParseCommand = parseCommand
