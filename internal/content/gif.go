package content

import (
	"bufio"
	"io"
)

// gif walks the blocks of a GIF up to its trailer and counts the images, whatever an extension says of loops: two are an
// animation. The trailer may be missing behind a whole image: programs write such files. Empty blocks before it are passed over.
func gif(in *bufio.Reader) (Found, error) {
	var screen [13]byte
	if _, err := io.ReadFull(in, screen[:]); err != nil {
		return Found{}, damaged(typeGIF, "it ends within its header")
	}
	found := Found{MediaType: typeGIF, Width: int(screen[6]) | int(screen[7])<<8, Height: int(screen[8]) | int(screen[9])<<8}
	if found.Width == 0 || found.Height == 0 {
		return Found{}, damaged(typeGIF, "its header gives %d × %d pixels", found.Width, found.Height)
	}
	cut := damaged(typeGIF, "it ends before its trailer")
	if !gifColours(in, screen[10]) {
		return Found{}, cut
	}
	for images := 0; ; {
		kind, err := in.ReadByte()
		if err != nil && images > 0 {
			return found, nil
		}
		if err != nil {
			return Found{}, cut
		}
		switch kind {
		case 0x3b:
			if images == 0 {
				return Found{}, damaged(typeGIF, "it has no image")
			}
			return found, nil
		case 0x00:
			continue
		case 0x21:
			if _, err := in.Discard(1); err != nil {
				return Found{}, cut
			}
		case 0x2c:
			if images++; images > 1 {
				return Found{}, moving("an animated GIF, of more than one frame")
			}
			var image [9]byte
			if _, err := io.ReadFull(in, image[:]); err != nil {
				return Found{}, cut
			}
			if image[4]|image[5] == 0 || image[6]|image[7] == 0 {
				return Found{}, damaged(typeGIF, "its image has no width or no height")
			}
			if !gifColours(in, image[8]) {
				return Found{}, cut
			}
			if _, err := in.Discard(1); err != nil { // the size of the first code
				return Found{}, cut
			}
			if next, err := in.Peek(1); err == nil && next[0] == 0 {
				return Found{}, damaged(typeGIF, "its image has no data")
			}
		default:
			return Found{}, damaged(typeGIF, "there is no block of kind %#x", kind)
		}
		if !gifBlocks(in) {
			return Found{}, cut
		}
	}
}

// gifColours passes over the colour table that flags announce.
func gifColours(in *bufio.Reader, flags byte) bool {
	if flags&0x80 == 0 {
		return true
	}
	_, err := in.Discard(3 << (flags&7 + 1))
	return err == nil
}

// gifBlocks passes over data in blocks of up to 255 bytes, which an empty one ends.
func gifBlocks(in *bufio.Reader) bool {
	for {
		n, err := in.ReadByte()
		if err != nil {
			return false
		}
		if n == 0 {
			return true
		}
		if _, err := in.Discard(int(n)); err != nil {
			return false
		}
	}
}
