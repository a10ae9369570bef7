package arrowipc

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// typeOf returns the type of a column.
func typeOf(t arrow.DataType, depth int) columns.Type {
	c := columns.Type{Kind: columns.Other, Name: t.String()}
	if depth > deepest {
		return c
	}
	list := func(elem arrow.DataType, width int) {
		e := typeOf(elem, depth+1)
		c.Kind, c.Elem, c.Width = columns.List, &e, width
	}
	switch t := t.(type) {
	case *arrow.Float64Type, *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type, *arrow.Decimal256Type:
		c.Kind = columns.Float64
	case *arrow.Float32Type:
		c.Kind = columns.Float32
	case *arrow.Float16Type:
		c.Kind = columns.Float16
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		c.Kind = columns.Int64
	case *arrow.Date32Type:
		c.Kind, c.Unit = columns.Time, columns.Days
	case *arrow.Date64Type:
		c.Kind, c.Unit = columns.Time, columns.Millis
	case *arrow.TimestampType:
		c.Kind, c.UTC = columns.Time, t.TimeZone != ""
		c.Unit = map[arrow.TimeUnit]columns.Unit{arrow.Second: columns.Seconds, arrow.Millisecond: columns.Millis, arrow.Microsecond: columns.Micros, arrow.Nanosecond: columns.Nanos}[t.Unit]
	case *arrow.BooleanType:
		c.Kind = columns.Bool
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		c.Kind = columns.Text
	case *arrow.DictionaryType:
		own := typeOf(t.ValueType, depth+1)
		own.Name = c.Name
		return own
	case *arrow.RunEndEncodedType:
		own := typeOf(t.Encoded(), depth+1)
		own.Name = c.Name
		return own
	case arrow.ExtensionType:
		own := typeOf(t.StorageType(), depth+1)
		own.Name = c.Name
		return own
	case *arrow.FixedSizeListType:
		list(t.Elem(), int(t.Len()))
	case *arrow.ListType:
		list(t.Elem(), 0)
	case *arrow.LargeListType:
		list(t.Elem(), 0)
	case *arrow.ListViewType:
		list(t.Elem(), 0)
	case *arrow.LargeListViewType:
		list(t.Elem(), 0)
	case *arrow.MapType:
		if typeOf(t.KeyType(), depth+1).Kind == columns.Text {
			list(t.ItemType(), 0)
			c.Kind = columns.Map
		}
	case *arrow.StructType:
		c.Kind = columns.Struct
		for _, f := range t.Fields() {
			c.Fields = append(c.Fields, columns.Column{Name: f.Name, Type: typeOf(f.Type, depth+1)})
		}
	}
	return c
}

// converter makes vectors of runs of an array.
type converter struct {
	name string
	t    *columns.Type
	a    arrow.Array

	dict  *columns.Vector // of a dictionary of texts: its texts
	inner *converter      // of what the array stores: a dictionary's or the runs' values, the elements of a list
	keys  *converter      // of a map
	each  []*converter    // of the fields of a struct
}

func newConverter(name string, t *columns.Type, a arrow.Array) *converter {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	c := &converter{name: name, t: t, a: a}
	switch a := a.(type) {
	case *array.Dictionary:
		c.inner = newConverter(name, t, a.Dictionary())
		if t.Kind == columns.Text {
			v := c.inner.cells(0, a.Dictionary().Len())
			c.dict = &v
		}
	case *array.RunEndEncoded:
		c.inner = newConverter(name, t, a.Values())
	case *array.Map:
		c.keys, c.inner = newConverter(name, &columns.Type{Kind: columns.Text}, a.Keys()), newConverter(name, t.Elem, a.Items())
	case array.ListLike:
		c.inner = newConverter(name, t.Elem, a.ListValues())
	case *array.Struct:
		for i := range t.Fields {
			c.each = append(c.each, newConverter(name+"."+t.Fields[i].Name, &t.Fields[i].Type, a.Field(i)))
		}
	}
	return c
}

// cells returns the cells [from, to) of the array.
func (c *converter) cells(from, to int) (v columns.Vector) {
	switch a := c.a.(type) {
	case *array.Dictionary:
		return c.coded(a, from, to)
	case *array.RunEndEncoded:
		return c.runs(a, from, to)
	}
	n := to - from
	if c.a.NullN() > 0 {
		v.Null = make([]bool, n)
		for i := range v.Null {
			v.Null[i] = c.a.IsNull(from + i)
		}
	}
	switch a := c.a.(type) {
	case *array.Float64:
		v.Float64 = a.Float64Values()[from:to]
	case *array.Float32:
		v.Float32 = a.Float32Values()[from:to]
	case *array.Float16:
		v.Float16 = make([]uint16, n)
		for i, x := range a.Values()[from:to] {
			v.Float16[i] = x.Uint16()
		}
	case *array.Int64:
		v.Int64 = a.Int64Values()[from:to]
	case *array.Int32:
		v.Int64 = widened(a.Int32Values()[from:to])
	case *array.Int16:
		v.Int64 = widened(a.Int16Values()[from:to])
	case *array.Int8:
		v.Int64 = widened(a.Int8Values()[from:to])
	case *array.Uint64:
		v.Int64 = make([]int64, n)
		for i, x := range a.Uint64Values()[from:to] {
			if x > math.MaxInt64 && a.IsValid(from+i) {
				panic(c.bad(from+i, strconv.FormatUint(x, 10), "is beyond the range of int64"))
			}
			v.Int64[i] = int64(x)
		}
	case *array.Uint32:
		v.Int64 = widened(a.Uint32Values()[from:to])
	case *array.Uint16:
		v.Int64 = widened(a.Uint16Values()[from:to])
	case *array.Uint8:
		v.Int64 = widened(a.Uint8Values()[from:to])
	case *array.Date32:
		v.Int64 = make([]int64, n)
		for i := range v.Int64 {
			v.Int64[i] = int64(a.Value(from + i))
		}
	case *array.Date64:
		v.Int64 = make([]int64, n)
		for i := range v.Int64 {
			v.Int64[i] = int64(a.Value(from + i))
		}
	case *array.Timestamp:
		v.Int64 = make([]int64, n)
		for i := range v.Int64 {
			v.Int64[i] = int64(a.Value(from + i))
		}
	case *array.Decimal32:
		v.Float64 = c.decimals(a.DataType().(arrow.DecimalType), from, to, func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) })
	case *array.Decimal64:
		v.Float64 = c.decimals(a.DataType().(arrow.DecimalType), from, to, func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) })
	case *array.Decimal128:
		v.Float64 = c.decimals(a.DataType().(arrow.DecimalType), from, to, func(i int) *big.Int { return a.Value(i).BigInt() })
	case *array.Decimal256:
		v.Float64 = c.decimals(a.DataType().(arrow.DecimalType), from, to, func(i int) *big.Int { return a.Value(i).BigInt() })
	case *array.Boolean:
		v.Bool = make([]bool, n)
		for i := range v.Bool {
			v.Bool[i] = a.Value(from + i)
		}
	case array.StringLike:
		v.Ends = make([]int, n)
		for i := range v.Ends {
			if a.IsValid(from + i) {
				v.Bytes = append(v.Bytes, a.Value(from+i)...)
			}
			v.Ends[i] = len(v.Bytes)
		}
	case *array.Struct:
		for _, f := range c.each {
			v.Fields = append(v.Fields, f.cells(from, to))
		}
	case array.ListLike:
		c.lists(&v, a, from, to)
	default:
		panic(columns.Wrong("", "column %q has the type %s, which is not supported", c.name, c.a.DataType()))
	}
	return v
}

// bad is the Fault of a cell.
func (c *converter) bad(row int, value, why string) *columns.Fault {
	return &columns.Fault{Row: int64(row), Line: -1, Column: c.name, Value: value, Reason: "column " + strconv.Quote(c.name) + ": " + value + " " + why}
}

func widened[T int8 | int16 | int32 | uint8 | uint16 | uint32](x []T) []int64 {
	o := make([]int64, len(x))
	for i, x := range x {
		o[i] = int64(x)
	}
	return o
}

// decimals returns decimal numbers, each rounded once.
func (c *converter) decimals(t arrow.DecimalType, from, to int, unscaled func(i int) *big.Int) []float64 {
	o := make([]float64, to-from)
	for i := range o {
		if c.a.IsNull(from + i) {
			continue
		}
		var err error
		if o[i], err = strconv.ParseFloat(unscaled(from+i).String()+"e"+strconv.Itoa(-int(t.GetScale())), 64); err != nil {
			panic(c.bad(from+i, unscaled(from+i).String(), "is beyond the range of float64"))
		}
	}
	return o
}

// lists sets the offsets and elements of lists or maps.
func (c *converter) lists(v *columns.Vector, a array.ListLike, from, to int) {
	v.Offsets = make([]int, to-from+1)
	first, last := 0, 0
	if f, ok := a.(*array.FixedSizeList); ok && to > from {
		start, end := f.ValueOffsets(from)
		width := int(end - start)
		first, last = int(start), int(start)+width*(to-from)
		if first < 0 || last > c.inner.a.Len() {
			panic(columns.Wrong("write it again", "damaged: column %q has fewer elements than its lists", c.name))
		}
		for i := range v.Offsets {
			v.Offsets[i] = i * width
		}
	} else if to > from {
		// The elements of views may be anywhere, and those of missing lists may be there or not.
		start, end := a.ValueOffsets(from)
		first, last = int(start), int(end)
		for i := range to - from {
			start, end = a.ValueOffsets(from + i)
			if c.t.Kind != columns.Map && (i > 0 && int(start) != last) || start < 0 || end < start || int(end) > c.inner.a.Len() {
				c.scattered(v, a, from, to)
				return
			}
			last = int(end)
			v.Offsets[i+1] = last - first
		}
	}
	e := c.inner.cells(first, last)
	v.Elem = &e
	if c.keys != nil {
		k := c.keys.cells(first, last)
		v.Keys = &k
	}
}

// scattered is lists for elements that do not follow one another.
func (c *converter) scattered(v *columns.Vector, a array.ListLike, from, to int) {
	var at []int
	for i := range to - from {
		start, end := a.ValueOffsets(from + i)
		if a.IsNull(from + i) {
			end = start
		}
		if start < 0 || end < start || int(end) > c.inner.a.Len() {
			panic(columns.Wrong("write it again", "damaged: column %q has lists of elements that are not there", c.name))
		}
		for j := start; j < end; j++ {
			at = append(at, int(j))
		}
		v.Offsets[i+1] = len(at)
	}
	all := c.inner.cells(0, c.inner.a.Len())
	e := picked(&all, at)
	v.Elem = &e
	if c.keys != nil {
		all := c.keys.cells(0, c.keys.a.Len())
		k := picked(&all, at)
		v.Keys = &k
	}
}

// coded returns the cells of a dictionary.
func (c *converter) coded(a *array.Dictionary, from, to int) (v columns.Vector) {
	at := make([]int, to-from)
	for i := range at {
		if a.IsNull(from + i) {
			if v.Null == nil {
				v.Null = make([]bool, to-from)
			}
			v.Null[i], at[i] = true, -1
			continue
		}
		at[i] = a.GetValueIndex(from + i)
		if at[i] < 0 || at[i] >= c.inner.a.Len() {
			panic(columns.Wrong("write it again", "damaged: column %q has the code %d, and its dictionary %d values", c.name, at[i], c.inner.a.Len()))
		}
		if c.inner.a.IsNull(at[i]) {
			if v.Null == nil {
				v.Null = make([]bool, to-from)
			}
			v.Null[i], at[i] = true, -1
		}
	}
	if c.dict == nil || c.dict.Codes != nil || c.inner.a.Len() == 0 {
		null := v.Null
		if c.inner.a.Len() == 0 {
			return columns.Vector{Null: null, Float64: make([]float64, to-from), Float32: make([]float32, to-from), Float16: make([]uint16, to-from),
				Int64: make([]int64, to-from), Bool: make([]bool, to-from), Ends: make([]int, to-from)}
		}
		all := c.inner.cells(0, c.inner.a.Len())
		v = picked(&all, at)
		v.Null = null
		return v
	}
	v.Bytes, v.Ends, v.Codes = c.dict.Bytes, c.dict.Ends, make([]int32, to-from)
	for i, at := range at {
		v.Codes[i] = int32(max(0, at))
	}
	return v
}

// runs returns the cells of runs of equal values.
func (c *converter) runs(a *array.RunEndEncoded, from, to int) columns.Vector {
	at := make([]int, to-from)
	ends := a.RunEndsArr()
	end := func(i int) int {
		switch e := ends.(type) {
		case *array.Int16:
			return int(e.Value(i))
		case *array.Int32:
			return int(e.Value(i))
		}
		return int(ends.(*array.Int64).Value(i))
	}
	run := a.GetPhysicalIndex(from)
	for i := range at {
		for run < ends.Len() && end(run) <= a.Offset()+from+i {
			run++
		}
		if run >= ends.Len() || run >= c.inner.a.Len() {
			panic(columns.Wrong("write it again", "damaged: column %q has runs that end before its rows", c.name))
		}
		at[i] = run
	}
	all := c.inner.cells(0, c.inner.a.Len())
	return picked(&all, at)
}

// picked returns the cells at some places of a vector; one below 0 is any cell.
func picked(v *columns.Vector, at []int) (o columns.Vector) {
	o.Float64, o.Float32, o.Float16 = pick(v.Float64, at), pick(v.Float32, at), pick(v.Float16, at)
	o.Int64, o.Bool, o.Null = pick(v.Int64, at), pick(v.Bool, at), pick(v.Null, at)
	switch {
	case v.Codes != nil:
		o.Bytes, o.Ends, o.Codes = v.Bytes, v.Ends, pick(v.Codes, at)
	case v.Ends != nil:
		o.Ends = make([]int, len(at))
		for i, j := range at {
			if j >= 0 {
				o.Bytes = append(o.Bytes, v.Text(j)...)
			}
			o.Ends[i] = len(o.Bytes)
		}
	}
	if v.Offsets != nil {
		o.Offsets = make([]int, 1, len(at)+1)
		var elements []int
		for _, j := range at {
			for e := v.Offsets[max(0, j)]; j >= 0 && e < v.Offsets[j+1]; e++ {
				elements = append(elements, e)
			}
			o.Offsets = append(o.Offsets, len(elements))
		}
		e := picked(v.Elem, elements)
		o.Elem = &e
		if v.Keys != nil {
			k := picked(v.Keys, elements)
			o.Keys = &k
		}
	}
	for i := range v.Fields {
		o.Fields = append(o.Fields, picked(&v.Fields[i], at))
	}
	return o
}

func pick[T any](x []T, at []int) []T {
	if x == nil {
		return nil
	}
	o := make([]T, len(at))
	for i, j := range at {
		if j >= 0 {
			o[i] = x[j]
		}
	}
	return o
}
