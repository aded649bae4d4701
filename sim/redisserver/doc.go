// Package redisserver has real Redis servers: those that it starts from PATH, each on a free port
// with a temporary folder of its own, and those of others, which it looks over before they are used.
//
// What it starts it takes away again: [Server.Close] does, and when this process ends in any other
// way, be it a panic, Ctrl-C or a kill, a guard process does.
//
// It must not know plans, locks or worlds. Passwords are in none of its errors.
package redisserver
