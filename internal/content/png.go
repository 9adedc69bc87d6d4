package content

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// png walks the chunks of a PNG up to its end chunk. Each has its CRC, so that a changed bit anywhere is found; a chunk that
// controls animation makes it an APNG, wherever it is.
func png(size int64, in *bufio.Reader) (Found, error) {
	_, _ = in.Discard(len(pngSignature))
	found := Found{MediaType: typePNG}
	left := size - int64(len(pngSignature))
	for first, data := true, false; ; first = false {
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return Found{}, damaged(typePNG, "it ends before its end chunk")
		}
		length, kind := int64(binary.BigEndian.Uint32(head[:])), string(head[4:])
		if left -= 12 + length; left < 0 {
			return Found{}, damaged(typePNG, "chunk %s has %d bytes by its header, more than the file has left", quoted(kind), length)
		}
		if first != (kind == "IHDR") || first && length != 13 {
			return Found{}, damaged(typePNG, "its first chunk, and no other, is a header of 13 bytes")
		}
		sum := crc32.NewIEEE()
		_, _ = sum.Write(head[4:])
		if first {
			var header [13]byte
			_, _ = io.ReadFull(in, header[:])
			_, _ = sum.Write(header[:])
			found.Width, found.Height = int(binary.BigEndian.Uint32(header[:])), int(binary.BigEndian.Uint32(header[4:]))
			if !pngHeader(header) {
				return Found{}, damaged(typePNG, "its header gives %d × %d pixels of depth %d and colour type %d", found.Width, found.Height, header[8], header[9])
			}
		} else if _, err := io.CopyN(sum, in, length); err != nil {
			return Found{}, damaged(typePNG, "it ends within chunk %s", quoted(kind))
		}
		var crc [4]byte
		if _, err := io.ReadFull(in, crc[:]); err != nil {
			return Found{}, damaged(typePNG, "it ends within chunk %s", quoted(kind))
		}
		switch {
		case binary.BigEndian.Uint32(crc[:]) != sum.Sum32():
			return Found{}, damaged(typePNG, "the checksum of chunk %s is not that of its bytes", quoted(kind))
		case kind == "acTL":
			return Found{}, moving("an animated PNG (APNG)")
		case kind == "IDAT":
			data = data || length > 0
		case kind == "IEND" && !data:
			return Found{}, damaged(typePNG, "it has no image data")
		case kind == "IEND":
			return found, nil
		}
	}
}

// pngHeader reports whether a header is one that the standard allows.
func pngHeader(h [13]byte) bool {
	side := func(at int) bool {
		n := binary.BigEndian.Uint32(h[at:])
		return n > 0 && n <= 1<<31-1
	}
	depths := map[byte]string{0: "\x01\x02\x04\x08\x10", 2: "\x08\x10", 3: "\x01\x02\x04\x08", 4: "\x08\x10", 6: "\x08\x10"}[h[9]]
	fits := false
	for i := range len(depths) {
		fits = fits || depths[i] == h[8]
	}
	return side(0) && side(4) && fits && h[10] == 0 && h[11] == 0 && h[12] <= 1
}
