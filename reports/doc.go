// Package reports renders a verdict: for a terminal, as one HTML page, as JSON.
//
// A verdict nobody understands is worth nothing, so this package is about people: it puts the
// answer first, then the story, then the picture, then the raw material. It judges nothing. It
// must not know worlds, scenarios or locks; what it shows comes from the history and the verdict,
// and a report that fails to render changes neither.
//
// Names and messages in a history were chosen by programs under test: every text goes through
// [visible] on its way out, and through html/template on its way into the page.
//
// To add a format: copy json.go, and add one line to [Formats].
package reports
