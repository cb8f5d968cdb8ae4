// Package oldmodels has models of all versions in testdata, and tests that this version still reads them. It has
// nothing to call.
package oldmodels
