package content

import (
	"bufio"
	"encoding/binary"
	"io"
)

// webp walks the chunks of a WebP. Whether it moves is read from the chunks of its frames, and also from its flags, so that
// neither hides the other.
func webp(size int64, in *bufio.Reader) (Found, error) {
	var head [12]byte
	_, _ = io.ReadFull(in, head[:])
	left := int64(binary.LittleEndian.Uint32(head[4:])) - 4
	if left+12 > size+1 { // a byte of padding may be missing at the end
		return Found{}, damaged(typeWebP, "it has %d bytes by its header, and %d in truth", left+12, size)
	}
	found, canvas, images := Found{MediaType: typeWebP}, Found{}, 0
	for first := true; left > 0; first = false {
		if images > 0 && left < 8 {
			break // a few bytes too many
		}
		var chunk [8]byte
		if _, err := io.ReadFull(in, chunk[:]); err != nil {
			return Found{}, damaged(typeWebP, "it ends within a chunk's header")
		}
		kind, length := string(chunk[:4]), int64(binary.LittleEndian.Uint32(chunk[4:]))
		padding := length & 1
		if left -= 8 + length; left < 0 {
			return Found{}, damaged(typeWebP, "chunk %s has %d bytes by its header, more than are left", quoted(kind), length)
		}
		start, _ := in.Peek(int(min(length, 10)))
		switch kind {
		case "ANIM", "ANMF":
			return Found{}, moving("an animated WebP")
		case "VP8X":
			if !first || len(start) < 10 {
				return Found{}, damaged(typeWebP, "chunk VP8X is not the first, or too short")
			}
			if start[0]&2 != 0 {
				return Found{}, moving("an animated WebP")
			}
			canvas = Found{Width: 1 + int24(start[4:]), Height: 1 + int24(start[7:])}
		case "VP8 ", "VP8L":
			ok := false
			if found.Width, found.Height, ok = webpImage(kind, length, start); !ok {
				return Found{}, damaged(typeWebP, "chunk %s does not begin as image data", quoted(kind))
			}
			if images++; images > 1 {
				return Found{}, damaged(typeWebP, "it has image data twice")
			}
		default:
			if first {
				return Found{}, damaged(typeWebP, "its first chunk is %s", quoted(kind))
			}
		}
		if _, err := in.Discard(int(length)); err != nil {
			return Found{}, damaged(typeWebP, "it ends within chunk %s", quoted(kind))
		}
		left -= padding
		_, _ = in.Discard(int(padding)) // which may be missing at the end
	}
	switch {
	case images == 0:
		return Found{}, damaged(typeWebP, "it has no image data")
	case canvas.Width > 0 && (canvas.Width != found.Width || canvas.Height != found.Height):
		return Found{}, damaged(typeWebP, "it is %d × %d pixels by its header and %d × %d by its image data", canvas.Width, canvas.Height, found.Width, found.Height)
	}
	return found, nil
}

// webpImage reads the dimensions from the first bytes of image data, lossy or lossless.
func webpImage(kind string, length int64, b []byte) (width, height int, ok bool) {
	if kind == "VP8 " {
		if len(b) < 10 || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
			return 0, 0, false // not a key frame
		}
		partition := int64(int24(b) >> 5)
		width, height = int(b[6])|int(b[7]&0x3f)<<8, int(b[8])|int(b[9]&0x3f)<<8
		return width, height, width > 0 && height > 0 && partition+10 <= length
	}
	if len(b) < 5 || b[0] != 0x2f {
		return 0, 0, false
	}
	bits := binary.LittleEndian.Uint32(b[1:])
	return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), bits>>29 == 0
}

func int24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
