package spool

import "os"

// Break makes a spool's disk refuse everything with an error, until it is mended
// with nil.
func (s *Spool) Break(err error) {
	s.write = func(f *os.File, content []byte) error {
		if err != nil {
			return err
		}
		return writeFile(f, content)
	}
}
