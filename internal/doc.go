// Package internal holds no code, only the tests that keep the module's rooms apart: which package may import which, and
// which functions the code behind a result may not call.
package internal
