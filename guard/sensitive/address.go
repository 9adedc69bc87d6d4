package sensitive

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
)

// maxAddress is the length of the longest IP address with brackets and a port, in bytes.
const maxAddress = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")

// newAddressFinder finds public IP addresses, with or without a port.
func newAddressFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`[0-9a-fA-F]*[.:][0-9a-fA-F.:]+`)
	return func(ctx context.Context, text string) ([]span, error) {
		var found []span
		for _, loc := range re.FindAllStringIndex(text, -1) {
			// What stands before a colon may be a word, as in src:8.8.8.8, and what stands behind one may be, too.
			for s := (span{loc[0], loc[1]}); s.start < s.end; {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				whole := span{s.start, s.start + len(strings.TrimRight(text[s.start:s.end], ".:"))}
				if isPublic(text[whole.start:whole.end]) && standsAlone(text, whole) {
					found = append(found, whole)
					break
				}
				colon := strings.IndexByte(text[s.start:s.end], ':')
				if colon < 0 {
					break
				}
				if first := (span{s.start, s.start + colon}); isPublic(text[first.start:first.end]) && standsAlone(text, first) {
					found = append(found, first)
				}
				s.start += colon + 1
			}
		}
		return found, nil
	}
}

// isPublic tells whether s is an address, or one with its port, that is given out to the public.
func isPublic(s string) bool {
	if len(s) > maxAddress || strings.IndexFunc(s, func(c rune) bool { return c >= '0' && c <= '9' }) < 0 {
		return false
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		port, err := netip.ParseAddrPort(s)
		if err != nil {
			return false
		}
		addr = port.Addr()
	}
	given := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3) // the part of IPv6 that is given out
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && (addr.Is4() || given.Contains(addr))
}
