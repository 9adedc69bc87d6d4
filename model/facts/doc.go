// Package facts knows the window, the largest answer and the formats of well-known models, and their makers' bounds
// for files, so that limits can be checked at admission (LI4, AT4) and a conversation compacted before it overflows.
//
// The table is facts.tsv, made from charm.land/catwalk by this package's golden test: only the test links
// catwalk, a program links 60 KB of text. Catwalk states a default for the answer's length and not the
// maximum; the test keeps it only where it is the maximum as the model's maker documents it, so an absent
// maximum means unknown. To take over a newer catwalk: go get it, then go test ./model/facts -update.
//
// Imports: model.
package facts
