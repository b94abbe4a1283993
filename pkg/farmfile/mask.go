package farmfile

import "regexp"

var (
	// passwordRE matches the password of a URL. It goes on to the last @: a password
	// may hold what should have been percent-encoded.
	passwordRE = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"']*:)(?:\$\{\{[^}]*\}\}|[^\s"'])*@`)
	// parameterRE matches a password among the parameters of a URL.
	parameterRE = regexp.MustCompile(`(?i)([?&;](?:[a-z_]*password|token|secret)=)[^&;\s"']+`)
)

// Mask takes the passwords of URLs out of a text.
func Mask(text string) string {
	text = passwordRE.ReplaceAllString(text, "${1}***@")
	return parameterRE.ReplaceAllString(text, "${1}***")
}
