package rowdata

import "fmt"

// A ValueError tells that a value does not fit a type.
type ValueError struct {
	Type  *Type
	Value string // as text, shortened
	What  string // what is wrong; "" if the value is just not one of the type
}

func (e *ValueError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("%q is no %s", e.Value, e.Type)
	}
	return fmt.Sprintf("%q is no %s: %s", e.Value, e.Type, e.What)
}

// errorTextMax is how much of a bad value an error repeats, in bytes.
const errorTextMax = 100

func valueError(t *Type, value, what string) error {
	if len(value) > errorTextMax {
		value = value[:errorTextMax] + "..."
	}
	return &ValueError{Type: t, Value: value, What: what}
}

// A CastError tells that values of one type cannot become values of another.
type CastError struct{ From, To *Type }

func (e *CastError) Error() string { return fmt.Sprintf("cannot cast %s to %s", e.From, e.To) }
