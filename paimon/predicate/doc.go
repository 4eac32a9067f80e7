// Package predicate filters rows by a text such as
//
//	status IN ('paid', 'sent') AND (amount >= 9.99 OR note LIKE 'gift%') AND paid IS NOT NULL
//
// [Parse] binds the text to the columns of a row type: names are looked up,
// literals become values of the column they are compared with, and NOT is pushed
// down to the leaves, so that what remains is a tree of AND and OR. An
// [Evaluator] runs it on batches, a column at a time. [Predicate.MayMatch] tells
// from the statistics of a file whether any of its rows can match.
//
// The logic is that of SQL with three values: a comparison with NULL is unknown,
// and a row matches only if the whole is true. Values order as keys do, but that
// -0.0 equals 0.0; NaN equals itself and is greater than any number.
package predicate
