package content

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// pdfTail is how far from its end a PDF has its end mark; readers look no further.
const pdfTail = 1024

// pdf checks that a PDF has its end: startxref, a place in the file, and %%EOF among the last bytes. One somewhere before does
// not count, since each saved change appends another; nor does the place 0, which stands near the beginning of a file
// that is made for the web. A file that was cut off shortly behind an earlier change's end is whole without the later one, and
// passes.
func pdf(size int64, in *bufio.Reader) (Found, error) {
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
	tail = tail[:max(0, bytes.LastIndex(tail, []byte("%%EOF")))]
	_, place, _ := bytes.Cut(tail[max(0, bytes.LastIndex(tail, []byte("startxref"))):], []byte("startxref"))
	if at, err := strconv.ParseInt(string(bytes.TrimSpace(place)), 10, 64); err != nil || at <= 0 || at >= size {
		return Found{}, damaged(typePDF, "its last %d bytes have no startxref with a place in it and %%%%EOF behind", pdfTail)
	}
	return Found{MediaType: typePDF}, nil
}
