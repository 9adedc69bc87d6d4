// Package sensitive is the guardrail that ships: it finds secrets and personal data in texts and text files and takes
// them out, or blocks the text (GR1, GR3).
//
//	guardrail, err := sensitive.New(sensitive.Config{})
//
// Each [Kind] has a finder of its own. A finder looks for what may be one, and then asks somebody who knows: the
// rules of gitleaks for keys and tokens, the numbering plans of libphonenumber for telephone numbers, the list of
// top-level domains for addresses, the check digits for cards and IBANs. What overlaps is one match. Each match is
// replaced by a marker that names its kind and nothing of its value, such as "[redacted: email]", and the new text is
// looked at again until nothing is found in it, so that redacting twice changes nothing. A reason names kinds and
// counts.
//
// Figures are also found where they stand between spaces, dashes, digits of full width or unseen marks that word
// processors and address books put in. What a rule of gitleaks has no place for, has a rule of our own (ownRules).
//
// Time grows with the length of a text and no faster, whatever it says: expressions are RE2, what stands around a
// match is looked at within bounds, and so are the rounds. A text that is not done with after five is blocked; none is
// known.
//
// # What it cannot do
//
// It lowers the risk and guarantees nothing. It knows shapes, not meaning: names of people, postal addresses, dates
// of birth and health are not found, nor is a password in prose ("my password is …") or one of plain words. What is
// encoded (base64, percent; but for the %40 of an address), split over lines or spelled out is not found, nor are an
// IBAN in lower case with more letters than those of its bank, the code and date beside a card, and a card behind a
// dash or a slash, which is a part of something else as a rule. Keys that documentation uses as examples pass, as do
// placeholders such as ${TOKEN}.
//
// It also takes what is none: a long random string after a word such as "key", an identifier of 16 digits whose last
// one is right by chance, a machine that is written as an address (me@build.sh), an attribute below a top-level domain
// (A@weights.data).
//
// Imports: api, guard; github.com/zricethezav/gitleaks/v8, github.com/spf13/viper, github.com/nyaruka/phonenumbers,
// mvdan.cc/xurls/v2.
package sensitive
