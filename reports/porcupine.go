package reports

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"regexp"
)

//go:embed web/porcupine.js
var porcupineScript []byte

var scriptBlock = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// porcupineTitle is the title that says nothing of the run.
var porcupineTitle = regexp.MustCompile(`<title>[^<]*</title>`)

// PorcupineOf says what a page of porcupine's is about.
type PorcupineOf struct{ Lock, Run string }

// Porcupine writes the page that porcupine made of a history, so that it can lie beside ours: its
// tooltips take HTML, into which clients' names go, so that no script may run but porcupine's own
// and ours (which has the page show the moment in "#t=30.412s", as our page does). A heading says of which
// lock and run it is, and leads back to the report.
func Porcupine(w io.Writer, page []byte, of PorcupineOf) error {
	const head, body, end = "<head>", "<body>", "</body>"
	blocks := scriptBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 1 || !bytes.Contains(page, []byte(head)) || !bytes.Contains(page, []byte(body)) || !bytes.Contains(page, []byte(end)) {
		return errors.New("porcupine's page is not what it was: want a head, a body and one script")
	}
	policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '` +
		scriptHash(blocks[0][1]) + `' '` + scriptHash(porcupineScript) + `'">`
	title := template.HTMLEscapeString(Visible(of.Lock + " in " + of.Run))
	policy += `<meta name="viewport" content="width=device-width, initial-scale=1"><title>` + title + `, as porcupine draws it</title>`
	page = porcupineTitle.ReplaceAll(page, nil)
	page = bytes.Replace(page, []byte(head), []byte(head+policy), 1)
	// Porcupine's legend stays at the top of the window, and takes 45 pixels there.
	heading := `<style>#canvas { margin-top: 8px }</style><header style="font: 15px system-ui, sans-serif; margin: 48px 10px 0"><h1 style="font-size: 18px; margin: 0 0 4px">` + title +
		`</h1><a href="report.html">back to the report</a></header>`
	page = bytes.Replace(page, []byte(body), []byte(body+heading), 1)
	i := bytes.LastIndex(page, []byte(end))
	_, err := w.Write(bytes.Join([][]byte{page[:i], []byte("<script>"), porcupineScript, []byte("</script>"), page[i:]}, nil))
	return err
}

// scriptHash names a script in a Content-Security-Policy.
func scriptHash(script []byte) string {
	hash := sha256.Sum256(script)
	return "sha256-" + base64.StdEncoding.EncodeToString(hash[:])
}
