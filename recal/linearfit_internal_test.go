package recal

import "testing"

// TestRowsPanic: what panics on a goroutine of a fit is the caller's to recover.
func TestRowsPanic(t *testing.T) {
	c := &coordinates{k: 40, o: &Options{Threads: 3}}
	defer func() {
		if r := recover(); r != "row 7" {
			t.Errorf("it panicked with %v", r)
		}
	}()
	c.rows(func() func(int) {
		return func(j int) {
			if j == 7 {
				panic("row 7")
			}
		}
	})
	t.Error("there was no panic")
}
