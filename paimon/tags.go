package paimon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/objstore"
)

// Tag is a named snapshot, which keeps the files of its snapshot alive
// (format section 3.6).
type Tag struct {
	Name     string
	Snapshot *Snapshot
	// CreateTime is set only if the tag has a time to live. Files keep it as local
	// time, so it is right only if reader and writer share the time zone.
	CreateTime time.Time
	// Retained is the time to live; 0: forever.
	Retained time.Duration
}

// ExpiresAt returns when the tag's time to live is over; ok is false if it has
// none.
func (t *Tag) ExpiresAt() (at time.Time, ok bool) {
	if t.Retained == 0 || t.CreateTime.IsZero() {
		return time.Time{}, false
	}
	return t.CreateTime.Add(t.Retained), true
}

// Marshal returns the content of the tag's file, in which the time of creation
// is in the location of CreateTime.
func (t *Tag) Marshal() ([]byte, error) {
	w := tagJSON{snapshotJSON: t.Snapshot.wire()}
	if t.Retained != 0 {
		w.CreateTime = localTimeArray(t.CreateTime)
		n := json.Number(fmt.Sprintf("%d.%09d", t.Retained/time.Second, t.Retained%time.Second))
		w.TimeRetained = &n
	}
	return marshalIndented(w)
}

// ParseTag reads the content of a tag's file. loc is the time zone of the writer.
// Errors are [ErrCorrupt].
func ParseTag(name string, data []byte, loc *time.Location) (*Tag, error) {
	var w tagJSON
	if err := unmarshalOne(bytes.TrimSpace(data), &w); err != nil {
		return nil, fmt.Errorf("tag %s: %w: %w", name, ErrCorrupt, err)
	}
	s, err := w.snapshot()
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", name, err)
	}
	tag := &Tag{Name: name, Snapshot: s}
	if w.CreateTime != nil {
		if tag.CreateTime, err = timeOfArray(w.CreateTime, loc); err != nil {
			return nil, fmt.Errorf("tag %s: tagCreateTime: %w: %w", name, ErrCorrupt, err)
		}
	}
	if w.TimeRetained != nil {
		if tag.Retained, err = parseSeconds(w.TimeRetained.String()); err != nil {
			return nil, fmt.Errorf("tag %s: tagTimeRetained: %w: %w", name, ErrCorrupt, err)
		}
	}
	return tag, nil
}

// localTimeArray writes a time as year, month, day, hour, minute, second and
// nanosecond, without the last ones if they are zero.
func localTimeArray(t time.Time) []int {
	a := []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond()}
	for len(a) > 5 && a[len(a)-1] == 0 {
		a = a[:len(a)-1]
	}
	return a
}

func timeOfArray(a []int, loc *time.Location) (time.Time, error) {
	if len(a) < 5 || len(a) > 7 {
		return time.Time{}, fmt.Errorf("%d elements, want 5 to 7", len(a))
	}
	a = append(slices.Clone(a), 0, 0)
	limits := [...][2]int{{-999_999, 999_999}, {1, 12}, {1, 31}, {0, 23}, {0, 59}, {0, 59}, {0, 999_999_999}}
	for i, l := range limits {
		if a[i] < l[0] || a[i] > l[1] {
			return time.Time{}, fmt.Errorf("element %d is %d", i+1, a[i])
		}
	}
	return time.Date(a[0], time.Month(a[1]), a[2], a[3], a[4], a[5], a[6], loc), nil
}

// parseSeconds reads decimal seconds such as 86400.000000000 exactly, and the
// exponent form of JSON numbers about.
func parseSeconds(s string) (time.Duration, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.ContainsAny(s, "eE") || strings.HasPrefix(s, "-") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f < 0 || f > math.MaxInt64/1e9-1 {
			return 0, fmt.Errorf("%s seconds are out of range", s)
		}
		return time.Duration(f * 1e9), nil
	}
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s seconds are out of range", s)
	}
	if sec > math.MaxInt64/int64(time.Second)-1 {
		return math.MaxInt64, nil // longer than can be told from forever
	}
	nanos, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number of seconds", s)
	}
	return time.Duration(sec)*time.Second + time.Duration(nanos), nil
}

// TagNames lists the tags in order of their names.
func (t *Table) TagNames(ctx context.Context) ([]string, error) {
	return t.listNames(ctx, t.branchDir()+"/tag", "tag-")
}

// listNames returns what follows the prefix in the names of the objects
// directly in a folder, sorted.
func (t *Table) listNames(ctx context.Context, dir, prefix string) ([]string, error) {
	objects, _, err := t.Store.ListDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var names []string
	for _, o := range objects {
		_, base := objstore.SplitName(o.Name)
		if name, ok := strings.CutPrefix(base, prefix); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Tags returns all tags in order of their snapshots, and of their names within
// one snapshot. A tag that is deleted meanwhile may be missing.
func (t *Table) Tags(ctx context.Context) ([]*Tag, error) {
	names, err := t.TagNames(ctx)
	if err != nil {
		return nil, err
	}
	tags := make([]*Tag, 0, len(names))
	for _, n := range names {
		tag, err := t.Tag(ctx, n)
		if errors.Is(err, ErrTagNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	slices.SortStableFunc(tags, func(a, b *Tag) int {
		return cmp.Or(cmp.Compare(a.Snapshot.ID, b.Snapshot.ID), strings.Compare(a.Name, b.Name))
	})
	return tags, nil
}

// Tag returns the tag of that name. [ErrTagNotFound].
func (t *Table) Tag(ctx context.Context, name string) (*Tag, error) {
	if err := checkComponent("tag", name); err != nil {
		return nil, err
	}
	tag, err := readParsed(ctx, t, t.TagPath(name), func(data []byte) (*Tag, error) {
		return ParseTag(name, data, t.opts.Location)
	})
	if errors.Is(err, objstore.ErrNotExist) {
		return nil, fmt.Errorf("tag %q of table %s: %w: %w", name, t.Path, ErrTagNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("tag %q of table %s: %w", name, t.Path, err)
	}
	return tag, nil
}

// TagOptions say what a new tag refers to.
type TagOptions struct {
	Snapshot int64         // 0: the newest
	Retained time.Duration // time to live; 0: the option tag.default-time-retained, or else forever
	Replace  bool          // whether an existing tag of that name is replaced
}

// CreateTag makes a tag of a snapshot, or of an expired one that another tag
// still keeps. The tag is durable on return. [ErrTagExists],
// [ErrSnapshotNotFound], [ErrNoSnapshot].
func (t *Table) CreateTag(ctx context.Context, name string, o TagOptions) (*Tag, error) {
	if err := checkComponent("tag", name); err != nil {
		return nil, err
	}
	s, tagged, err := t.snapshotForTag(ctx, o.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("create tag %q: %w", name, err)
	}
	tag := &Tag{Name: name, Snapshot: s, Retained: o.Retained}
	if tag.Retained == 0 {
		if tag.Retained, err = t.Options().Duration(OptTagDefaultTimeRetained); err != nil {
			return nil, err
		}
	}
	if tag.Retained != 0 {
		tag.CreateTime = t.opts.Now().In(t.opts.Location)
	}
	data, err := tag.Marshal()
	if err != nil {
		return nil, fmt.Errorf("create tag %q: %w", name, err)
	}
	if o.Replace {
		err = t.Store.Put(ctx, t.TagPath(name), data)
	} else {
		err = createObject(ctx, t.Store, t.TagPath(name), data)
	}
	switch {
	case errors.Is(err, objstore.ErrExists):
		return nil, fmt.Errorf("create tag %q of table %s: %w", name, t.Path, ErrTagExists)
	case err != nil:
		return nil, fmt.Errorf("create tag %q of table %s: %w", name, t.Path, err)
	}
	if !tagged {
		// Had the snapshot expired before the tag was there, its files might be gone.
		if ok, err := t.SnapshotExists(ctx, s.ID); err != nil || !ok {
			return nil, t.undoTag(ctx, name, s.ID, err)
		}
	}
	return tag, nil
}

func (t *Table) undoTag(ctx context.Context, name string, id int64, cause error) error {
	if cause == nil {
		cause = ErrSnapshotNotFound
	}
	err := fmt.Errorf("create tag %q of table %s: snapshot %d expired meanwhile: %w", name, t.Path, id, cause)
	return errors.Join(err, t.Store.Delete(ctx, t.TagPath(name)))
}

// snapshotForTag finds the snapshot of that number, 0 being the newest; tagged
// if it is alive only through another tag.
func (t *Table) snapshotForTag(ctx context.Context, id int64) (s *Snapshot, tagged bool, err error) {
	if id == 0 {
		s, err = t.LatestSnapshot(ctx)
		return s, false, err
	}
	s, err = t.Snapshot(ctx, id)
	if !errors.Is(err, ErrSnapshotNotFound) {
		return s, false, err
	}
	tags, terr := t.Tags(ctx)
	if terr != nil {
		return nil, false, terr
	}
	for _, tag := range tags {
		if tag.Snapshot.ID == id {
			return tag.Snapshot, true, nil
		}
	}
	return nil, false, err
}

// DeleteTag removes the tag's file, and before it the marker that says that the tag
// is complete: as long as the tag is there, so is the way to delete it again after
// a crash. Files that only the tag kept alive stay until maintenance removes them.
// [ErrTagNotFound].
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	if err := checkComponent("tag", name); err != nil {
		return err
	}
	ok, err := objstore.Exists(ctx, t.Store, t.TagPath(name))
	if err != nil {
		return fmt.Errorf("delete tag %q of table %s: %w", name, t.Path, err)
	}
	if !ok {
		return fmt.Errorf("delete tag %q of table %s: %w", name, t.Path, ErrTagNotFound)
	}
	for _, path := range []string{t.branchDir() + "/tag/tag-success-file/" + name + "_SUCCESS", t.TagPath(name)} {
		if err := t.Store.Delete(ctx, path); err != nil {
			return fmt.Errorf("delete tag %q of table %s: %w", name, t.Path, err)
		}
	}
	return nil
}

// checkComponent tells whether a name can be one part of a path.
func checkComponent(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%s name is blank: %w", what, ErrName)
	case strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%s name %q has a slash or NUL: %w", what, name, ErrName)
	}
	return nil
}
