package exact

import "fmt"

// OpenFields returns a reader of the fields of the one state in b, which has to be of this magic and version and to be
// all of b.
func OpenFields(magic string, version uint16, b []byte) (*Dec, error) {
	v, payload, rest, err := Open(magic, b)
	switch {
	case err != nil:
		return nil, err
	case v != version:
		return nil, fmt.Errorf("version %d, and this program reads version %d", v, version)
	case len(rest) != 0:
		return nil, fmt.Errorf("%w: %d bytes follow the state", ErrDamaged, len(rest))
	}
	return NewDec(payload), nil
}
