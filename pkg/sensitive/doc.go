// Package sensitive finds secrets and personal data in text: what must not leave
// a tool or an agent. It looks for the shapes that such values have, with their
// checksums where they have any, and rather misses one than takes an order
// number for a credit card. It sends nothing anywhere and needs time in
// proportion to the text.
package sensitive
