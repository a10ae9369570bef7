package conformal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// schema identifies the file format of maps and its version.
const schema = "candor-conformal-map/1"

type mapFile struct {
	Schema   string     `json:"schema"`
	Method   string     `json:"method"`
	Seed     uint64     `json:"seed"`
	Coverage float64    `json:"coverage"`
	Kind     string     `json:"kind"`
	Classes  int        `json:"classes"`
	Rows     int64      `json:"rows"`
	Levels   []float64  `json:"levels,omitempty"`
	Parts    []partFile `json:"thresholds"`
	SHA256   string     `json:"sha256,omitempty"`
}

type partFile struct {
	Class     string `json:"class,omitempty"`
	Rows      int64  `json:"rows"`
	Threshold number `json:"threshold"`
}

// number is a float64 that may be infinite, then the string "+Inf".
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 1) {
		return []byte(`"+Inf"`), nil
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == `"+Inf"` {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// sum returns the SHA-256 of the file as compact JSON without the sum itself.
func (f mapFile) sum() string {
	f.SHA256 = ""
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // there is no such value
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Marshal returns the file of a map, a JSON object:
//
//	schema      "candor-conformal-map/1"
//	method      as Parse reads it
//	seed        of random numbers
//	coverage    that is promised
//	kind        of the calibration rows
//	classes     2 for a binary task; for numbers, the numbers in a row
//	rows        of the calibration
//	levels      of the two quantiles of cqr
//	thresholds  one, or one for each class: class, rows, threshold ("+Inf" if there are too few rows)
//	sha256      of the others, as JSON without spaces
//
// Numbers have all their digits, so the map that Unmarshal returns gives the same sets as m.
func Marshal(m *Map) ([]byte, error) {
	f := mapFile{Schema: schema, Method: m.method.String(), Seed: m.method.Seed, Coverage: m.coverage, Kind: m.kind.String(), Classes: m.classes, Rows: m.rows, Levels: m.levels}
	for _, p := range m.parts {
		f.Parts = append(f.Parts, partFile{p.Name, p.Rows, number(p.Threshold)})
	}
	f.SHA256 = f.sum()
	b, err := json.MarshalIndent(f, "", " ")
	return append(b, '\n'), err
}

// Unmarshal returns the map in a file. It returns an error if the file is damaged, of a later version, or not a map.
func Unmarshal(b []byte) (*Map, error) {
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("this is not the file of a conformal map: %w", err)
	}
	switch {
	case version.Schema == schema:
	case strings.HasPrefix(version.Schema, "candor-conformal-map/"):
		return nil, fmt.Errorf("the map is of the format %q, and %s is known here: a later candor reads it", version.Schema, schema)
	case strings.HasPrefix(version.Schema, "candor-map/"):
		return nil, errors.New("this is a recalibration map, and not a conformal one")
	default:
		return nil, errors.New("this is not the file of a conformal map: its schema is not " + schema)
	}
	var f mapFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("this is not the file of a conformal map: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("this is not the file of a conformal map: something stands behind it")
	}
	if f.sum() != f.SHA256 {
		return nil, errors.New("the map was changed or damaged: its sha256 is another one; fit it again")
	}
	return f.decode()
}

var errDamaged = errors.New("the map cannot be read: its thresholds are not those of a fit")

func (f *mapFile) decode() (*Map, error) {
	method, err := Parse(f.Method)
	if err != nil {
		return nil, fmt.Errorf("the map cannot be read: %w", err)
	}
	method.Seed = f.Seed
	m := &Map{method: method, coverage: f.Coverage, kind: metrics.Kind(255), classes: f.Classes, rows: f.Rows, levels: f.Levels}
	for k := metrics.Kind(0); k.Valid(); k++ {
		if k.String() == f.Kind {
			m.kind = k
		}
	}
	parts := 1
	if method.ByClass {
		parts = f.Classes
	}
	if !(f.Coverage > 0 && f.Coverage < 1) || method.accepts(m.kind) != nil || f.Classes < 1 || len(f.Parts) != parts || f.Rows < 1 {
		return nil, errDamaged
	}
	rows := int64(0)
	for i, p := range f.Parts {
		name := ""
		if method.ByClass {
			name = strconv.Itoa(i)
		}
		t := float64(p.Threshold)
		if p.Class != name || p.Rows < 0 || t != t || Rank(p.Rows, f.Coverage) > p.Rows && !math.IsInf(t, 1) {
			return nil, errDamaged
		}
		rows += p.Rows
		m.parts = append(m.parts, Part{p.Class, p.Rows, t})
	}
	if rows != f.Rows {
		return nil, errDamaged
	}
	return m, nil
}
