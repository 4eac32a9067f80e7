package pqt

import ("testing";"os";"bytes";"sluice/paimon/rowdata";"fmt";"strconv")

func writePadded(t *testing.T, fields []rowdata.Field, cols []*rowdata.Vector, opts Options, target int) []byte {
	pad := 0
	for range 20 {
		var out bytes.Buffer
		w, err := NewWriter(&out, fields, opts)
		if err != nil { t.Fatal(err) }
		n := cols[0].Len()
		for at := 0; at < n; at += 1000 { if err := w.Write(cols, at, min(n, at+1000)); err != nil { t.Fatal(err) } }
		if err := w.endGroup(); err != nil { t.Fatal(err) }
		if err := w.emit(make([]byte, pad)); err != nil { t.Fatal(err) }
		if _, err := w.Close(); err != nil { t.Fatal(err) }
		if out.Len() == target { return out.Bytes() }
		pad += target - out.Len()
		if pad < 0 { t.Fatal("ours is larger by ", -pad) }
	}
	t.Fatal("no padding fits"); return nil
}

func TestZZJava(t *testing.T) {
	dir := os.Getenv("PQT_DIR")
	if dir == "" { t.Skip() }
	var opts Options
	opts.PageRows, _ = strconv.Atoi(os.Getenv("PQT_PAGEROWS"))
	rg, _ := strconv.Atoi(os.Getenv("PQT_RG")); opts.RowGroupBytes = int64(rg)
	opts.NoDelta = os.Getenv("PQT_NODELTA") != ""
	opts.NoDictionary = os.Getenv("PQT_NODICT") != ""
	opts.Compression = os.Getenv("PQT_CODEC")
	d, _ := strconv.Atoi(os.Getenv("PQT_DICT")); opts.DictionaryBytes = d
	for _, p := range parquetFiles(t, dir) {
		b, _ := os.ReadFile(p)
		fields := fileFields(t, p, b)
		cols := readAll(t, b, fields, ReadOptions{})
		out := writePadded(t, fields, cols, opts, len(b))
		os.WriteFile(p, out, 0o644)
		fmt.Println(p, len(b), cols[0].Len())
	}
}
