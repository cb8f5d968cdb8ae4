// Package oldmodels keeps models of all versions in testdata, and its tests hold this version against them. It has nothing to call.
package oldmodels
