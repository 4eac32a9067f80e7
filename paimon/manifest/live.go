package manifest

// LiveSet finds the live files among the entries of a snapshot's base and delta
// (format section 5.4): the ADD entries whose identity does not occur among the
// DELETE entries. The order of entries does not matter. The zero value is empty.
type LiveSet struct {
	added   []Entry
	deleted map[string]struct{}
}

// Add takes the next entry. It copies the struct, not what it points to.
func (s *LiveSet) Add(e *Entry) {
	if e.Kind == Add {
		s.added = append(s.added, *e)
		return
	}
	if s.deleted == nil {
		s.deleted = map[string]struct{}{}
	}
	s.deleted[e.Identity()] = struct{}{}
}

// Entries returns the live entries in the order in which they were added. The
// set must not be used afterwards.
func (s *LiveSet) Entries() []Entry {
	if len(s.deleted) == 0 {
		return s.added
	}
	live := s.added[:0]
	var key []byte
	for i := range s.added {
		key = s.added[i].appendIdentity(key[:0])
		if _, gone := s.deleted[string(key)]; !gone {
			live = append(live, s.added[i])
		}
	}
	clear(s.added[len(live):])
	return live
}

// Live returns the live entries of all lists together.
func Live(lists ...[]Entry) []Entry {
	var s LiveSet
	for _, list := range lists {
		for i := range list {
			s.Add(&list[i])
		}
	}
	return s.Entries()
}
