package content

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// png walks the chunks of a PNG up to its end chunk. Each has its CRC, so that a changed bit anywhere is found; a chunk that
// controls animation makes it an APNG, wherever it is.
func png(size int64, in *bufio.Reader) (Found, error) {
	_, _ = in.Discard(len(pngSignature))
	found := Found{MediaType: typePNG}
	left := size - int64(len(pngSignature))
	for first, data := true, false; ; first = false {
		head, err := in.Peek(8)
		if err != nil {
			return Found{}, damaged(typePNG, "it ends before its end chunk")
		}
		length, kind := int64(binary.BigEndian.Uint32(head)), [4]byte(head[4:])
		if left -= 12 + length; left < 0 {
			return Found{}, damaged(typePNG, "chunk %q has %d bytes by its header, more than the file has left", string(kind[:]), length)
		}
		if isHeader := string(kind[:]) == "IHDR"; first != isHeader || first && length != 13 {
			return Found{}, damaged(typePNG, "its first chunk, and no other, is a header of 13 bytes")
		}
		_, _ = in.Discard(4)
		if first {
			header, err := in.Peek(4 + 13)
			if err != nil {
				return Found{}, damaged(typePNG, "it ends within its header")
			}
			header = header[4:]
			found.Width, found.Height = int(binary.BigEndian.Uint32(header)), int(binary.BigEndian.Uint32(header[4:]))
			if !pngHeader([13]byte(header)) {
				return Found{}, damaged(typePNG, "its header gives %d × %d pixels of depth %d and colour type %d", found.Width, found.Height, header[8], header[9])
			}
		}
		sum, ok := pngSum(in, 4+length)
		given, err := in.Peek(4)
		if !ok || err != nil {
			return Found{}, damaged(typePNG, "it ends within chunk %q", string(kind[:]))
		}
		if binary.BigEndian.Uint32(given) != sum {
			return Found{}, damaged(typePNG, "the checksum of chunk %q is not that of its bytes", string(kind[:]))
		}
		_, _ = in.Discard(4)
		switch string(kind[:]) {
		case "acTL": // also with one frame: some decoders show it, some the still image
			return Found{}, moving("an animated PNG (APNG)")
		case "IDAT":
			data = data || length > 0
		case "IEND":
			if !data {
				return Found{}, damaged(typePNG, "it has no image data")
			}
			return found, nil
		}
	}
}

// pngSum reads n bytes and gives their CRC.
func pngSum(in *bufio.Reader, n int64) (sum uint32, ok bool) {
	for n > 0 {
		data, err := in.Peek(int(min(n, 4096)))
		if err != nil {
			return 0, false
		}
		sum = crc32.Update(sum, crc32.IEEETable, data)
		_, _ = in.Discard(len(data))
		n -= int64(len(data))
	}
	return sum, true
}

// pngHeader reports whether a header is one that the standard allows.
func pngHeader(h [13]byte) bool {
	side := func(at int) bool {
		n := binary.BigEndian.Uint32(h[at:])
		return n > 0 && n <= 1<<31-1
	}
	depths := map[byte]string{0: "\x01\x02\x04\x08\x10", 2: "\x08\x10", 3: "\x01\x02\x04\x08", 4: "\x08\x10", 6: "\x08\x10"}[h[9]]
	return side(0) && side(4) && strings.IndexByte(depths, h[8]) >= 0 && h[10] == 0 && h[11] == 0 && h[12] <= 1
}
