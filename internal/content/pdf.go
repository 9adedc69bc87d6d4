package content

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// pdfTail is how far from its end a PDF has its end mark; readers look no further.
const pdfTail = 1024

// pdf checks that a PDF has its end: startxref and %%EOF among the last bytes. One that is somewhere before does not count,
// since each saved change appends another, and a file made for the web has one near its beginning.
func pdf(in *bufio.Reader) (Found, error) {
	buf := make([]byte, pdfTail+8<<10)
	kept := 0
	for {
		n, err := in.Read(buf[kept:])
		end := kept + n
		if kept = min(end, pdfTail); kept < end {
			copy(buf, buf[end-kept:end])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Found{}, err
		}
	}
	tail := buf[:kept]
	mark := bytes.LastIndex(tail, []byte("%%EOF"))
	if mark < 0 || !bytes.Contains(tail[:mark], []byte("startxref")) {
		return Found{}, damaged(typePDF, "there is no startxref with %%%%EOF among its last %d bytes", pdfTail)
	}
	return Found{MediaType: typePDF}, nil
}
