package predictions

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// clustered is what readers with clusters have in common.
type clustered interface {
	metrics.Source
	Cluster(i int32) string
	ClusterColumn() string
	Group(i int32) []string
	Close() error
}

// namesOf reads all rows, and returns the name of each one's cluster, and the first value of its group.
func namesOf(t *testing.T, r clustered) (clusters, groups []string, err error) {
	t.Helper()
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return clusters, groups, nil
		}
		if err != nil {
			return clusters, groups, err
		}
		for _, n := range c.Clusters {
			clusters = append(clusters, r.Cluster(n))
		}
		for _, n := range c.Groups {
			groups = append(groups, r.Group(n)[0])
		}
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}

// TestClusters: every format has the names of the clusters of its rows, with groups beside them or without.
func TestClusters(t *testing.T) {
	want, sites := []string{"b", "a", "b", "7", "ä"}, []string{"x", "y", "y", "x", "x"}
	score1 := func(i int) float64 { return 0.1 + 0.15*float64(i) }
	ones := func(i int) float64 { return float64(i % 2) }
	arrays := save(t, "s.npz", npz(true, entry{"probs.npy", npy(1, "<f8", false, []int{5}, score1)}, entry{"labels.npy", npy(1, "<i4", false, []int{5}, ones)},
		entry{"video.npy", texts(2, want...)}, entry{"site.npy", texts(1, sites...)}))
	plain := save(t, "p.npy", npy(1, "<f8", false, []int{5}, score1))
	labels := save(t, "y.npy", npy(1, "<i4", false, []int{5}, ones))
	file := save(t, "video.npy", texts(2, want...))
	csv := save(t, "t.csv", []byte("site,p,video,y\nx,0.1,b,0\ny,0.25,a,1\ny,0.4,b,0\nx,0.55,7,1\nx,0.7,ä,0\n"))
	jsonl := save(t, "t.jsonl", []byte("{\"site\":\"x\",\"p\":0.1,\"m\":{\"video\":\"b\"},\"y\":0}\n{\"site\":\"y\",\"p\":0.25,\"m\":{\"video\":\"a\"},\"y\":1}\n"+
		"{\"site\":\"y\",\"p\":0.4,\"m\":{\"video\":\"b\"},\"y\":0}\n{\"site\":\"x\",\"p\":0.55,\"m\":{\"video\":\"7\"},\"y\":1}\n{\"site\":\"x\",\"p\":0.7,\"m\":{\"video\":\"ä\"},\"y\":0}\n"))
	normal := save(t, "n.csv", []byte("video,mean,sd,observed,site\nb,0,1,0.5,x\na,0,1,1,y\nb,0,1,1,y\n7,0,1,2,x\nä,0,1,-1,x\n"))
	table := func(path, cluster string, groups ...string) (clustered, error) {
		return OpenTable([]string{path}, &TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y", Cluster: cluster, Groups: groups}})
	}
	for _, c := range []struct {
		name   string
		open   func() (clustered, error)
		column string
		groups bool
	}{
		{"npz", func() (clustered, error) { return Open([]string{arrays}, &Options{Cluster: "video"}) }, "video", false},
		{"npz, groups", func() (clustered, error) {
			return Open([]string{arrays}, &Options{Cluster: "video", Groups: []string{"site"}, BufferBytes: 16})
		}, "video", true},
		{"npy", func() (clustered, error) {
			return Open([]string{plain}, &Options{Cluster: file, Labels: []string{labels}})
		}, "video", false},
		{"csv", func() (clustered, error) { return table(csv, "video") }, "video", false},
		{"csv, groups", func() (clustered, error) { return table(csv, "video", "site") }, "video", true},
		{"jsonl", func() (clustered, error) { return table(jsonl, "m.video") }, "m.video", false},
		{"jsonl, groups", func() (clustered, error) { return table(jsonl, "m.video", "site") }, "m.video", true},
		{"forecasts", func() (clustered, error) {
			return OpenForecast([]string{normal}, &ForecastOptions{Kind: metrics.Normals, Cluster: "video", Groups: []string{"site"}})
		}, "video", true},
	} {
		r, err := c.open()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.ClusterColumn() != c.column {
			t.Errorf("%s: column %q", c.name, r.ClusterColumn())
		}
		got, in, err := namesOf(t, r)
		if err != nil || !slices.Equal(got, want) || c.groups && !slices.Equal(in, sites) || !c.groups && in != nil {
			t.Errorf("%s: clusters %q, groups %q, %v", c.name, got, in, err)
		}
		if r.Cluster(4) != "" || r.Cluster(-1) != "" {
			t.Errorf("%s: a cluster that there is not", c.name)
		}
	}
}

// TestClustersOfFolders: the key of a folder may be the cluster, and there may be more clusters than groups.
func TestClustersOfFolders(t *testing.T) {
	dir := t.TempDir()
	for _, day := range []string{"1", "2"} {
		if err := os.MkdirAll(filepath.Join(dir, "day="+day), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "day="+day, "a.jsonl"), []byte("{\"p\":0.1,\"y\":0}\n{\"p\":0.2,\"y\":1}\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenTable([]string{dir}, &TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y", Cluster: "day"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := namesOf(t, r); err != nil || !slices.Equal(got, []string{"1", "1", "2", "2"}) {
		t.Errorf("%q, %v", got, err)
	}
	n := maxGroups + 500
	each := save(t, "each.npy", npy(1, "<i4", false, []int{n}, func(i int) float64 { return float64(i) }))
	x := save(t, "x.npy", npy(1, "<f4", false, []int{n, 3}, score))
	y := save(t, "y.npy", npy(1, "<i4", false, []int{n}, label(3)))
	many, err := Open([]string{x}, &Options{Cluster: each, Labels: []string{y}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := namesOf(t, many); err != nil || len(got) != n {
		t.Errorf("%d clusters, %v", len(got), err)
	}
}

// TestBadClusters: what cannot be a cluster is an error that says what to do.
func TestBadClusters(t *testing.T) {
	csv := save(t, "t.csv", []byte("site,p,video,y\nx,0.1,b,0\ny,0.25,,1\n"))
	jsonl := save(t, "t.jsonl", []byte("{\"site\":[1,2],\"p\":0.1,\"y\":0,\"video\":\"a\"}\n{\"p\":0.25,\"y\":1}\n"))
	x := save(t, "x.npy", npy(1, "<f4", false, []int{2, 3}, score))
	y := save(t, "y.npy", npy(1, "<i4", false, []int{2}, label(3)))
	three := save(t, "three.npy", npy(1, "<i4", false, []int{3}, label(3)))
	floats := save(t, "floats.npy", npy(1, "<f4", false, []int{2}, label(3)))
	blank := save(t, "blank.npy", texts(2, "a", ""))
	table := func(path, cluster string, groups ...string) error {
		r, err := OpenTable([]string{path}, &TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y", Cluster: cluster, Groups: groups}})
		if err == nil {
			_, _, err = namesOf(t, r)
		}
		return err
	}
	array := func(cluster string) error {
		r, err := Open([]string{x}, &Options{Labels: []string{y}, Cluster: cluster})
		if err == nil {
			_, _, err = namesOf(t, r)
		}
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{table(csv, "video"), `t.csv: line 3: column "video": the row has no cluster; each row needs the name`},
		{table(csv, "vid"), `no column "vid" for the cluster`},
		{table(csv, "site", "site"), `column "site" both groups the rows and is their cluster; name another column`},
		{table(jsonl, "video"), `t.jsonl: row 1: column "video": the row has no cluster`},
		{table(jsonl, "site"), `column "site" cannot be the cluster: its type is`},
		{array(three), `three.npy: 3 clusters for the 2 rows of `},
		{array(floats), `floats.npy: clusters are `},
		{array(blank), `blank.npy: row 1: column "blank": the row has no cluster`},
	} {
		wantError(t, c.err, c.want)
	}
	_, err := OpenLabels([]string{x}, &Options{Cluster: y, Labels: []string{x}})
	wantError(t, err, "rows of several labels are not clustered")
	_, err = OpenMembers([]string{x, x}, &Options{Cluster: y, Labels: []string{y}})
	wantError(t, err, "the rows of an ensemble are not clustered")
}
