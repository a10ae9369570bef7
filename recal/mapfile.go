package recal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// schema identifies the file format of maps and its version.
const schema = "candor-map/1"

type mapFile struct {
	Schema     string          `json:"schema"`
	Method     string          `json:"method"`
	Fit        json.RawMessage `json:"fit"`
	Parameters json.RawMessage `json:"parameters"`
	SHA256     string          `json:"sha256"` // see sum
}

type fitFile struct {
	Rows         int64  `json:"rows"`
	Classes      int    `json:"classes"`
	Kind         string `json:"kind"`
	Weighted     bool   `json:"weighted"`
	LeftOut      int64  `json:"left_out"`
	FirstLeftOut int64  `json:"first_left_out"`
	Reads        int    `json:"reads"`
}

// check returns an error unless a fit can have produced these values. A map that was not fitted has no rows and no reads.
func (f *fitFile) check() error {
	kind := false
	for k := metrics.Kind(0); k.Valid(); k++ {
		kind = kind || f.Kind == k.String()
	}
	none := f.LeftOut == 0 && f.FirstLeftOut == -1
	some := f.LeftOut > 0 && f.LeftOut <= f.Rows && f.FirstLeftOut >= 0
	if f.Rows < 0 || f.Reads < 0 || (f.Rows == 0) != (f.Reads == 0) || f.Classes < 1 || !kind || !none && !some {
		return errors.New("its record of the fit contradicts itself: rows, classes, kind, rows left out, or reads")
	}
	return nil
}

// sum returns the SHA-256 of schema, method, fit and parameters, each as compact JSON followed by a line end.
func (f *mapFile) sum() (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n", f.Schema, f.Method)
	for _, part := range []json.RawMessage{f.Fit, f.Parameters} {
		if err := json.Compact(&b, part); err != nil {
			return "", err
		}
		b.WriteByte('\n')
	}
	s := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(s[:]), nil
}

// Marshal returns the file of a map, a JSON object:
//
//	schema      "candor-map/1"
//	method      as Parse reads it
//	fit         rows, classes, kind, weighted, left_out, first_left_out, reads: the Fit
//	parameters  of the method; each method's documentation lists them
//	sha256      of the other four, each followed by a line end; fit and parameters as JSON without spaces
//
// Numbers have all their digits, so the map that Unmarshal returns gives the same bits as m.
func Marshal(m Map) ([]byte, error) {
	f := mapFile{Schema: schema, Method: m.Method()}
	var err error
	if f.Fit, err = json.Marshal(fitFile(m.Fit())); err != nil {
		return nil, err
	}
	if f.Parameters, err = json.Marshal(m.parameters()); err != nil {
		return nil, err
	}
	if f.SHA256, err = f.sum(); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(f, "", " ")
	return append(b, '\n'), err
}

// Unmarshal returns the map in a file. It returns an error if the file is damaged, of a later version, or not a map.
func Unmarshal(b []byte) (Map, error) {
	// Check the version first, since a later one may have other members.
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("this is not the file of a map: %w", err)
	}
	if version.Schema != schema {
		if strings.HasPrefix(version.Schema, "candor-map/") {
			return nil, fmt.Errorf("the map is of the format %q, and %s is known here: a later candor reads it", version.Schema, schema)
		}
		if strings.HasPrefix(version.Schema, "candor-conformal-map/") {
			return nil, errors.New("this is a conformal map, and not one of recalibration: pass it to candor conformal")
		}
		return nil, errors.New("this is not the file of a map: its schema is not " + schema)
	}
	var f mapFile
	if err := strict(b, &f); err != nil {
		return nil, fmt.Errorf("this is not the file of a map: %w", err)
	}
	sum, err := f.sum()
	if err != nil || sum != f.SHA256 {
		return nil, errors.New("the map was changed or damaged: its sha256 is another one; fit it again")
	}
	m, err := Parse(f.Method)
	if err != nil {
		return nil, fmt.Errorf("the map cannot be read: %w", err)
	}
	var fit fitFile
	if err := strict(f.Fit, &fit); err != nil {
		return nil, fmt.Errorf("the map cannot be read: fit: %w", err)
	}
	if err := fit.check(); err != nil {
		return nil, fmt.Errorf("the map cannot be read: fit: %w", err)
	}
	t, err := m.decode(Fit(fit), f.Parameters)
	if err != nil {
		return nil, fmt.Errorf("the map cannot be read: %s: %w", f.Method, err)
	}
	return t, nil
}

// strict decodes a single JSON value and rejects unknown members and trailing data.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something stands behind it")
	}
	return nil
}
