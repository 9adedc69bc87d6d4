package content

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Readers look for a PDF's beginning among its first bytes, since servers and mail put line breaks, marks and headers before it, and
// for its end among the last ones, since they put blanks and pages behind it.
const (
	pdfMark = "%PDF-"
	pdfHead = 1024
	pdfTail = 8 << 10
)

// pdf checks that a PDF has its end: startxref, a place in the file, and %%EOF among the last bytes. One somewhere before does
// not count, since each saved change appends another; nor does the place 0, which stands near the beginning of a file
// that is made for the web. A file that was cut off shortly behind an earlier change's end is whole without the later one, and
// passes.
func pdf(size int64, in *bufio.Reader) (Found, error) {
	buf := make([]byte, 2*pdfTail)
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
	if place, ok := pdfPlace(buf[:kept]); !ok || place <= 0 || place >= size {
		return Found{}, damaged(typePDF, "its last %d bytes have no startxref with a place in it and %%%%EOF behind", pdfTail)
	}
	return Found{MediaType: typePDF}, nil
}

// pdfPlace is the place between the last startxref and %%EOF. Comments may follow it.
func pdfPlace(tail []byte) (place int64, ok bool) {
	tail = tail[:max(0, bytes.LastIndex(tail, []byte("%%EOF")))]
	at := bytes.LastIndex(tail, []byte("startxref"))
	if at < 0 {
		return 0, false
	}
	lines := bytes.FieldsFunc(tail[at+len("startxref"):], func(r rune) bool { return r == '\r' || r == '\n' })
	for _, line := range lines {
		digits, _, _ := bytes.Cut(line, []byte("%"))
		digits = bytes.TrimSpace(digits)
		switch {
		case len(digits) == 0:
		case ok:
			return 0, false
		default:
			var err error
			if place, err = strconv.ParseInt(string(digits), 10, 64); err != nil {
				return 0, false
			}
			ok = true
		}
	}
	return place, ok
}
