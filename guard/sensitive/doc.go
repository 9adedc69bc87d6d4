// Package sensitive is the guardrail that ships: it finds secrets and personal data in text and takes them out, or
// blocks the text (GR1, GR3).
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
// # What it cannot do
//
// It lowers the risk and guarantees nothing. It knows shapes, not meaning: names of people, postal addresses, dates
// of birth and health are not found, nor is a password in prose. What is encoded (base64, percent), split over
// lines or spelled out is not found. Keys that documentation uses as examples pass, as do placeholders such as
// ${TOKEN}. A long random string after a word such as "key" may be taken for a secret though it is none.
//
// Imports: api, guard; github.com/zricethezav/gitleaks/v8, github.com/spf13/viper, github.com/nyaruka/phonenumbers,
// mvdan.cc/xurls/v2.
package sensitive
