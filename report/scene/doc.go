// Package scene holds a picture as marks with roles, and writes it as SVG. Everything that candor draws is a Scene: the pictures of
// --plot, in each format, and those of a page. So all of them look the same.
//
// A Scene is a size in points, a title, a description that says the finding in words, and marks: Rect, Line, Path, Circle, Text and
// Group. The origin is the upper left corner and y points downwards, as in SVG. A mark has a Role, such as Over or Grid, and no colour.
// Tokens has the colours of each role on a light and on a dark background.
//
// SVG returns a file: it needs nothing else, and follows the reader's choice of light or dark. Inline returns an element for a page
// that has CSS in its style sheet.
//
// Equal scenes give equal bytes on every CPU. Coordinates are rounded when they are written. The package needs the standard library
// only, and no font: Width knows the widths of Liberation Sans, which are those of Arial and Helvetica.
package scene
