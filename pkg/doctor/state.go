package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// state looks at the state folder: locks, the token, and as a rule the store.
func (o Options) state() []Finding {
	if o.Home == "" {
		return nil
	}
	if err := writable(o.Home); err != nil {
		return []Finding{problem("state", err.Error(), "let this user write it, or name another with EVALFARM_HOME")}
	}
	info, err := os.Stat(o.Home)
	switch {
	case err != nil:
		return []Finding{ok("state", o.Home+" is not there yet; the first command that needs it makes it")}
	case info.Mode().Perm()&0o077 != 0:
		return []Finding{warning("state", fmt.Sprintf("%s can be looked into by others (mode %#o)", o.Home, info.Mode().Perm()), "chmod 700 "+o.Home)}
	}
	return []Finding{ok("state", o.Home+" can be written")}
}

// spool looks at the folder where a worker keeps results, and at the room there.
func (o Options) spool() []Finding {
	if o.Spool == "" {
		return nil
	}
	if err := writable(o.Spool); err != nil {
		return []Finding{problem("spool", err.Error(), "let this user write it, on a local disk, or name another with spool")}
	}
	free, bad := o.room("spool", existing(o.Spool), "make room: a worker whose spool is full takes no trials")
	if bad != nil {
		return bad
	}
	return []Finding{ok("spool", o.Spool+" can be written, "+free+" are free")}
}

// writable says why nothing can be written into a folder. One that is not there
// could be made, if that is so of the nearest folder around it.
func writable(folder string) error {
	info, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
		return writable(filepath.Dir(folder))
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", folder)
	}
	f, err := os.CreateTemp(folder, ".evalfarm-doctor-*")
	if err != nil {
		return fmt.Errorf("write into %s: %w", folder, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// existing is the folder itself, or the nearest one around it that is there.
func existing(folder string) string {
	for {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}
