// Package reports renders verdicts: one run for a terminal, as an HTML page, as JSON; many runs as a
// page, as JUnit, as Markdown.
//
// A verdict nobody understands is worth nothing, so this package is about people: it puts the
// answer first, then the story, then the picture, then the raw material. It judges nothing. It
// must not know worlds, scenarios or locks; what it shows comes from the history and the verdict,
// and a report that fails to render changes neither.
//
// Names and messages in a history were chosen by programs under test: every text goes through
// [visible] on its way out, and through html/template on its way into a page.
//
// To add a format for one run: copy json.go, and add one line to [Formats]. For many: copy
// junit.go, and add one line to [BatchFormats]; simrun's flag for it follows from that.
package reports
