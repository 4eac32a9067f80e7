package tablewriter

import (
	"strconv"
	"sync/atomic"

	"sluice/lsm"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
)

// lsmTable says how the table's files are made. The names of files hold the
// session, so that no other writer makes the same.
func lsmTable(h *shape, session string) (*lsm.Table, error) {
	o := h.schema.Options
	t := &lsm.Table{
		Layout:   datafile.Layout{Schema: h.typ, SchemaID: h.schema.ID, Key: h.schema.TrimmedKey(), Thin: datafile.IsThin(o)},
		Order:    h.order,
		Engine:   h.engine,
		Producer: h.flush,
	}
	var err error
	if t.Data.Options, err = fileOptions(o, datafile.DataFiles, 0); err != nil {
		return nil, err
	}
	if t.Changelog.Options, err = fileOptions(o, datafile.ChangelogFiles, 0); err != nil {
		return nil, err
	}
	t.Data.Name = namer(o.Text(paimon.OptDataFilePrefix), session)
	t.Changelog.Name = namer(o.Text(paimon.OptChangelogFilePrefix), session)
	return t, nil
}

func fileOptions(o paimon.Options, kind datafile.Kind, level int32) (datafile.Options, error) {
	f, err := datafile.OptionsOf(o, kind, level)
	if err != nil {
		return f, err
	}
	f.Source = manifest.SourceAppend
	if f.Format != datafile.FormatParquet && f.Format != datafile.FormatAvro {
		return f, &datafile.UnsupportedFormatError{Format: f.Format}
	}
	return f, nil
}

// namer returns names prefix-session-0, -1, ... (format section 9.2).
func namer(prefix, session string) func() string {
	var n atomic.Int64
	return func() string { return prefix + session + "-" + strconv.FormatInt(n.Add(1)-1, 10) }
}
