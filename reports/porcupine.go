package reports

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
)

//go:embed web/porcupine.js
var porcupineScript []byte

var scriptBlock = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// Porcupine writes the page that porcupine made of a history, so that it can lie beside ours: its
// tooltips take HTML, into which clients' names go, so that no script may run but porcupine's own
// and ours (which has the page show the moment in "#t=30.412s", as our page does).
func Porcupine(w io.Writer, page []byte) error {
	const head, end = "<head>", "</body>"
	blocks := scriptBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 1 || !bytes.Contains(page, []byte(head)) || !bytes.Contains(page, []byte(end)) {
		return errors.New("porcupine's page is not what it was: want a head, a body and one script")
	}
	policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '` +
		scriptHash(blocks[0][1]) + `' '` + scriptHash(porcupineScript) + `'">`
	page = bytes.Replace(page, []byte(head), []byte(head+policy), 1)
	i := bytes.LastIndex(page, []byte(end))
	_, err := w.Write(bytes.Join([][]byte{page[:i], []byte("<script>"), porcupineScript, []byte("</script>"), page[i:]}, nil))
	return err
}

// scriptHash names a script in a Content-Security-Policy.
func scriptHash(script []byte) string {
	hash := sha256.Sum256(script)
	return "sha256-" + base64.StdEncoding.EncodeToString(hash[:])
}
