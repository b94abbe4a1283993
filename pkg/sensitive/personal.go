package sensitive

import (
	"regexp"
	"slices"
	"strings"
)

var (
	joinedBefore = regexp.MustCompile(`[\w#]$|\w[-+./]$`)
	joinedAfter  = regexp.MustCompile(`^\w|^[-+]\w|^\.[0-9]`)

	// emailHost is what follows the local part of an addr-spec of RFC 5322 section
	// 3.4.1: a host of RFC 1123 section 2.1 whose last label is of letters.
	emailHost = regexp.MustCompile(`^@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}`)
	// iban of ISO 13616-1: a country, two check digits, up to 30 letters and digits;
	// on paper in groups of four.
	iban = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}`)
	// card has 13 to 19 digits in one, or groups as they are printed: of four, or of
	// 4, 6 and 4 or 5.
	card = regexp.MustCompile(`^(?:[0-9]{13,19}|(?:[0-9]{4}[ -]){3}[0-9]{1,4}(?:[ -][0-9]{1,3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5})`)
	// ssn is a social security number of the USA as it is printed on the card.
	ssn = regexp.MustCompile(`^[0-9]{3}-[0-9]{2}-[0-9]{4}`)
	// phone is an international number (ITU-T E.164 with the + and the separators of
	// E.123), or one of the North American plan as it is written there.
	phone = regexp.MustCompile(`^(?:\+[1-9](?:[ .-]?\(?[0-9]\)?){8,15}|\([2-9][0-9]{2}\) ?[2-9][0-9]{2}[-. ][0-9]{4}|[2-9][0-9]{2}-[2-9][0-9]{2}-[0-9]{4})`)
)

// maxLocal is the longest local part, in bytes (RFC 5321 section 4.5.3.1.1).
const maxLocal = 64

// mailbox adds the local part, without the characters that only quoting makes
// likely. It refuses the password in front of a URI's host, pictures for dense
// screens such as logo@2x.png, and the user of a git remote.
func mailbox(text string, at, end int) (int, int) {
	start := at
	for start > 0 && at-start < maxLocal && (isWord(text[start-1]) || strings.IndexByte(".+-%'", text[start-1]) >= 0) {
		start--
	}
	local := strings.TrimLeft(text[start:at], ".+-%'_")
	start = at - len(local)
	host := text[at+1 : end]
	extension := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case local == "", local == "git", strings.HasSuffix(local, "."), strings.Contains(local, ".."):
	case slices.Contains([]string{"png", "jpg", "jpeg", "gif", "svg", "webp"}, strings.ToLower(extension)):
	case end < len(text) && (isWord(text[end]) || text[end] == '@'):
	case inAuthority(text[max(0, start-window):at]):
	default:
		return start, end
	}
	return 0, 0
}

// inAuthority says whether a text ends between the :// of a URI and the host.
func inAuthority(before string) bool {
	i := strings.LastIndex(before, "://")
	return i >= 0 && !strings.ContainsAny(before[i+len("://"):], "/?#,; \t\r\n\"'")
}

// accountNumber takes as many characters as the country's numbers have and
// checks them.
func accountNumber(text string, start, end int) (int, int) {
	length := ibanLength(text[start : start+2])
	compact := make([]byte, 0, length)
	at := start
	for ; at < end && len(compact) < length; at++ {
		if text[at] != ' ' {
			compact = append(compact, text[at])
		}
	}
	if length == 0 || len(compact) < length || !mod97(compact) {
		return 0, 0
	}
	return alone(text, start, at)
}

// cardNumber wants the length and first digits of a known issuer and Luhn's
// check digit. What follows in a group of its own may be the card's code.
func cardNumber(text string, start, end int) (int, int) {
	number := text[start:end]
	compact := strings.NewReplacer(" ", "", "-", "").Replace(number)
	uniform := !strings.Contains(number, " ") || !strings.Contains(number, "-")
	switch last := strings.LastIndexAny(number, " -"); {
	case uniform && isolated(text, start, end) && issued(compact) && luhn(compact):
		return start, end
	case last > 0 && len(compact) > 13:
		return cardNumber(text, start, start+last)
	default:
		return 0, 0
	}
}

// socialSecurityNumber applies what the Social Security Administration says of
// numbers that it never assigns.
func socialSecurityNumber(text string, start, end int) (int, int) {
	area, rest, _ := strings.Cut(text[start:end], "-")
	group, serial, _ := strings.Cut(rest, "-")
	if area == "000" || area == "666" || area[0] == '9' || group == "00" || serial == "0000" || !isolated(text, start, end) {
		return 0, 0
	}
	return start, end
}

// phoneNumber wants 9 to 15 digits after a +: shorter ones are signed numbers
// more often than phones, longer ones no phones at all. What makes a number too
// long may be another one behind a space.
func phoneNumber(text string, start, end int) (int, int) {
	number := text[start:end]
	n := 0
	for i := range len(number) {
		if isDigit(number[i]) {
			n++
		}
	}
	switch last := strings.LastIndexByte(number, ' '); {
	case n > 15 && last > 0:
		return phoneNumber(text, start, start+last)
	case n > 15, number[0] == '+' && n < 9, strings.Count(number, "(") != strings.Count(number, ")"), !isolated(text, start, end):
		return 0, 0
	default:
		return start, end
	}
}

// isolated wants a number that is no part of a longer number or name: of a
// decimal fraction, of an id such as ORD-4111 or #4111, of a UUID, of a path.
func isolated(text string, start, end int) bool {
	before, after := text[max(0, start-2):start], text[end:min(len(text), end+2)]
	return !joinedBefore.MatchString(before) && !joinedAfter.MatchString(after)
}
