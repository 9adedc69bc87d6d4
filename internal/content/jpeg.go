package content

import "bufio"

// jpeg walks the segments of a JPEG up to its end marker: a frame header with the dimensions, then one or more scans. What stands
// between segments is passed over, as every decoder does. The end marker must be there, since without it a file that was cut off in its last scan looks like a whole one. An embedded
// preview lies within a segment, and is passed over with it.
func jpeg(in *bufio.Reader) (Found, error) {
	_, _ = in.Discard(2)
	found, framed, scanned := Found{MediaType: typeJPEG}, false, false
	cut := damaged(typeJPEG, "it ends before its end marker")
	for {
		marker, ok := jpegMarker(in)
		if !ok {
			return Found{}, cut
		}
		switch {
		case marker == 0xd9 && scanned:
			return found, nil
		case marker == 0xd9:
			return Found{}, damaged(typeJPEG, "it has no image data before its end marker")
		case marker == 0xd8 || marker < 0xc0 && marker != 0x01:
			return Found{}, damaged(typeJPEG, "there is no marker %#x", marker)
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // has no segment
			continue
		}
		head, err := in.Peek(2)
		if err != nil {
			return Found{}, cut
		}
		length := int(head[0])<<8 | int(head[1]) - 2
		if length < 0 {
			return Found{}, damaged(typeJPEG, "segment %#x has a length below 2", marker)
		}
		_, _ = in.Discard(2)
		if isFrame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc; isFrame {
			frame, err := in.Peek(min(length, 6))
			if err != nil {
				return Found{}, cut
			}
			if framed || length < 9 || length != 6+3*int(frame[5]) {
				return Found{}, damaged(typeJPEG, "it has a second frame header, or one of a wrong length")
			}
			framed, found.Height, found.Width = true, int(frame[1])<<8|int(frame[2]), int(frame[3])<<8|int(frame[4])
			if found.Width == 0 || found.Height == 0 {
				return Found{}, damaged(typeJPEG, "its frame header gives %d × %d pixels", found.Width, found.Height)
			}
		}
		if marker == 0xda {
			if !framed {
				return Found{}, damaged(typeJPEG, "its image data comes before a frame header")
			}
			scanned = true
		}
		if _, err := in.Discard(length); err != nil {
			return Found{}, cut
		}
	}
}

// jpegMarker reads up to the next marker: over a scan's data, bytes that belong nowhere, and fill bytes.
func jpegMarker(in *bufio.Reader) (marker byte, ok bool) {
	for {
		c, err := in.ReadByte()
		for c == 0xff && err == nil {
			if c, err = in.ReadByte(); c != 0xff && c != 0 && err == nil {
				return c, true
			}
		}
		if err != nil {
			return 0, false
		}
	}
}
