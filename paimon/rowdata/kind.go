package rowdata

import "fmt"

// RowKind says what a row of a changelog does to its key. The values are the
// bytes of the _VALUE_KIND column (format section 9.1).
type RowKind uint8

// The four kinds of change.
const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

var kindText = [4]string{"+I", "-U", "+U", "-D"}

// String returns +I, -U, +U or -D.
func (k RowKind) String() string {
	if int(k) < len(kindText) {
		return kindText[k]
	}
	return fmt.Sprintf("RowKind(%d)", uint8(k))
}

// IsAdd tells whether the row exists after the change: +I and +U.
func (k RowKind) IsAdd() bool { return k == Insert || k == UpdateAfter }

// IsRetract tells whether the row is taken back by the change: -U and -D.
func (k RowKind) IsRetract() bool { return k == UpdateBefore || k == Delete }

// ParseRowKind reads the short form of a kind, +I, -U, +U or -D.
func ParseRowKind(s string) (RowKind, error) {
	for k, t := range kindText {
		if s == t {
			return RowKind(k), nil
		}
	}
	return 0, fmt.Errorf("row kind %q: want +I, -U, +U or -D", s)
}
