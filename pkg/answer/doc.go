// Package answer reads what a server answered to a request, as steps and checks
// look at it: the value, the text, whether it is a rejection and which. It also
// writes such hostile text into messages, within bounds and with nothing unseen
// in it.
package answer
