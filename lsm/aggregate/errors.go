package aggregate

import (
	"errors"
	"fmt"

	"sluice/paimon/rowdata"
)

// ErrDivision says that a retraction from a product divides by zero.
var ErrDivision = errors.New("division by zero")

// ErrEndless says that a retraction from a decimal product has no exact result.
var ErrEndless = errors.New("the quotient has no end as a decimal fraction")

// ErrNullKey says that a nested row has a NULL in its key and the option
// nested-key-null-strategy is error. The text is that of the original.
var ErrNullKey = errors.New("Nested key contains null values. Primary key fields must not be null.")

// UnknownError says that there is no function of that name.
type UnknownError struct{ Function string }

func (e *UnknownError) Error() string { return "there is no aggregate function " + e.Function }

// TypeError says that a function does not take values of the column's type.
type TypeError struct {
	Function string
	Type     *rowdata.Type
	Want     string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("aggregate function %s takes %s and not %s", e.Function, e.Want, e.Type)
}

func wrongType(s Spec, want string) error {
	return &TypeError{Function: s.Function, Type: s.Type, Want: want}
}

// NestedFieldError says that the elements of a column have no such field.
type NestedFieldError struct {
	Option string // the last part of the option's name
	Field  string
	Type   *rowdata.Type
}

func (e *NestedFieldError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s must be set for a column of type %s", e.Option, e.Type)
	}
	return fmt.Sprintf("%s: %s is no field of %s", e.Option, e.Field, e.Type)
}

// RetractError says that a function cannot take values back.
type RetractError struct {
	Function string
	Column   string // set by who knows it
}

func (e *RetractError) Error() string {
	column := e.Column
	if column == "" {
		column = "${field_name}"
	}
	return "Aggregate function '" + e.Function + "' does not support retraction, If you allow this function to ignore retraction messages, you can configure 'fields." +
		column + ".ignore-retract'='true'."
}

// OverflowError says that a number does not fit the type of its column.
type OverflowError struct {
	Type    *rowdata.Type
	A, B    string
	Operand string // +, -, *, /
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("%s overflow: %s %s %s", e.Type, e.A, e.Operand, e.B)
}
