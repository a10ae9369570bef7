// Package page writes results as self-contained HTML pages: for people to look at, to keep with a build, and to send on.
//
// A page has no script and asks no server for anything; it forbids both to the browser. Its pictures are those of package picture, as
// SVG. Every number on it is a data element with all its digits, and is in the JSON document that the page carries in the element
// with id "candor". Equal documents give equal bytes, so the page of merged states is that of all rows.
//
// Start with Eval.
package page
