package sensitive

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
)

// newAddressFinder finds public IP addresses, with or without a port.
func newAddressFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`[0-9a-fA-F]{0,4}[.:][0-9a-fA-F.:]{1,50}`)
	given := netip.MustParsePrefix("2000::/3") // the part of IPv6 that is given out
	return func(_ context.Context, text string) ([]span, error) {
		return candidates(re, text, func(c span) (span, bool) {
			c.end -= len(text[c.start:c.end]) - len(strings.TrimRight(text[c.start:c.end], ".:"))
			s := text[c.start:c.end]
			addr, err := netip.ParseAddr(s)
			if err != nil {
				port, err := netip.ParseAddrPort(s)
				if err != nil {
					return c, false
				}
				addr = port.Addr()
			}
			public := addr.IsGlobalUnicast() && !addr.IsPrivate() && (addr.Is4() || given.Contains(addr))
			return c, public && standsAlone(text, c)
		}), nil
	}
}
