// Package faultstore wraps a store and fails on purpose, so that tests can try
// what happens at each point where a store can fail.
//
// A [Rule] says which calls fail and how: before the effect, after it (the
// answer is lost), half-way (a torn write), or with a wrong list. Calls are
// counted, so that a test can run once for each injection point until none is
// left:
//
//	for n := 1; ; n++ {
//		s := faultstore.New(inner, faultstore.Rule{Call: n, Mode: faultstore.FailAfter})
//		err := operation(s)
//		if s.Fired() == 0 {
//			break // the operation makes fewer than n calls
//		}
//		check(inner, err)
//	}
package faultstore
