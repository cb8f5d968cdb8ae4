package manual

import (
	"cmp"
	"maps"
	"strings"

	"github.com/spf13/cobra"
)

// explanation returns the explanation of a flag of a command: the one for that command, else the one for the name.
func explanation(cmd *cobra.Command, flag string) string {
	text := flagTexts[flag]
	if words := strings.Fields(cmd.CommandPath()); len(words) > 1 {
		verb := words[1]
		if verb == "demo" {
			verb = "train"
		}
		text = cmp.Or(flagTexts[verb+" "+flag], text)
	}
	return strings.ReplaceAll(text, "`bellows ", "`"+cmd.Root().Name()+" ")
}

// flagTexts are the explanations of flags for which a line is not enough, by their names, or by a command and the name where
// commands have different flags of one name. TestFlagTextsNameFlags refuses a key that names no flag.
var flagTexts = map[string]string{
	"cache": "A parsed input is kept and mapped into memory by the next run that reads the same file. `bellows cache show` lists what is kept.",
	"categorical": "The columns may hold numbers; each different text is a value. Columns are given by name or by number from 1, separated by " +
		"commas. The label column may be among them.",
	"train checkpoint": "PLACE is a folder, a URI such as file:///folder or s3://bucket/prefix, or none. Checkpoints are taken without " +
		"stopping the job. A run that lost its folder resumes from its checkpoint.",
	"train checkpoint-every": "auto chooses the interval from the time that a checkpoint takes and from the time that machines live.",
	"cluster":                "local is the cluster that `bellows up` started on this machine; HOST:PORT is the address of its manager.",
	"train connections":      "The number of connections between each two processes, from 1 to 4. auto chooses it.",
	"train cv": "Cross-validation deals the rows to K folds by --seed; each fold has the same share of each class. It trains K models in " +
		"turn, each on the rows of the other folds, and scores it on its own fold. 5 % of the other folds decide when training stops. It " +
		"prints the metrics of each fold, their mean and their sample standard deviation. It leaves no model and no run folder: train the " +
		"model by the same command without --cv.",
	"train epochs": "Without --epochs, a run stops when the held-out error stops falling, or when the objective is close enough to its " +
		"minimum (linear).",
	"format": "Formats: libsvm, libfm, vw, csv, tsv, triples, jsonl, parquet, arrow, idx, images, docword, ldac, text. Without --format " +
		"it is detected from the name and the first lines of the file. docs/3-formats.md describes each.",
	"train fresh": "By default the same command resumes an unfinished run. With --fresh it starts over, and it also replaces another run in " +
		"the folder of --out.",
	"train from": "MODEL is the folder of a saved model of the same application. Training continues with its parameters, on the same or on " +
		"more data. Users, items, words, features and classes that the model knows keep what it learned about them.",
	"hash-bits": "Named features of Vowpal Wabbit text are numbered by a hash of this many bits, from 1 to 27. Predicting takes the number of " +
		"the model.",
	"train holdout": "Without --test, 10 % of the rows of DATA are held out and scored. hash chooses them by a hash of the row and --seed. last " +
		"takes the last rows in their order. time takes the latest rows by the column of --time (ratings and examples). stratified takes the same " +
		"share of each class (examples).",
	"ignore": "Columns are given by name or by number from 1, separated by commas. For Vowpal Wabbit text, names are those of namespaces.",
	"label":  "The column is given by its name or by its number from 1. For IDX files it is the file with the labels.",
	"train metrics": "Prometheus can then read the metrics of the run at http://ADDR/metrics. The address must be a loopback address, such as " +
		"127.0.0.1:9090.",
	"eval metrics": "Names are separated by commas. The default is the metrics that suit the model. An unknown name prints the list of known ones.",
	"missing":      "Words are separated by commas; '' is the empty word alone. The default list holds NA, NaN and others, see docs/3-formats.md.",
	"ngrams": "With 2, each two adjacent words of a text are also a word, such as new_york, and each two adjacent names in a Vowpal Wabbit " +
		"namespace are also a feature. With 1 they are not. The default is 1; predicting does as the model was trained.",
	"train notice": "When a process of --processes gets SIGTERM, its work and its part of the tables move to the other processes. It ends " +
		"after this time at the latest.",
	"up notice":         "When a node gets Ctrl-C or SIGTERM, its work and its part of the tables move to other nodes. It ends after this time at the latest.",
	"join notice":       "When the node gets Ctrl-C or SIGTERM, its work and its part of the tables move to other nodes. It ends after this time at the latest.",
	"drain notice":      "The work and the part of the tables that the node has move to other nodes. It leaves after this time at the latest.",
	"join lanes":        "A lane serves a part of the tables. With 0 the node has no lane if other nodes are servers, and 1 if it has no compute slot.",
	"train out":         "The model, its manifest and the log of events are in the folder. The default is runs/APP-N with the first free number N, and runs/demo-APP-N for a demo.",
	"predict out":       "The file appears under its name when it is complete. Without --out the lines go to standard output.",
	"quadratic":         "AB are the first letters of the names of two Vowpal Wabbit namespaces. Each feature of the one and each of the other make one more feature. The flag may be repeated.",
	"recommend ratings": "The ratings of a user whom the model does not know: item=4.5,other=2, or a file with an item and a rating in each line.",
	"recommend seen":    "Items that the user has in this file of user and item are left out. By default the items in the training data are left out.",
	"scale job":         "The command is refused if another job runs, so that a script does not change the wrong one.",
	"train servers": "Servers hold the tables and run no tasks. With auto each process does both, and small tables stay in the leading process. " +
		"The number counts among --processes.",
	"train set": "NAME is a setting of the application; `bellows help APP` explains all of them. The flag may be repeated.",
	"train staleness": "A read may miss updates of this many clocks. 0 is bulk-synchronous (BSP): runs repeat bit for bit. A number is a bound " +
		"(SSP); async has no bound. The default is the choice of the application. See docs/4-consistency.md.",
	"stop-words":         "english is a built-in list; a file has one word a line. By default no word is left out; predicting leaves out the words that training did.",
	"train time":         "The column has numbers or ISO 8601 dates. It is given by name or by number from 1; by default it is found by its name.",
	"train time-feature": "Without this flag the column of --holdout time is not a feature.",
	"token":              "The default is the token in the state folder. Prefer the environment variable BELLOWS_TOKEN: other users can see command lines.",
	"train until":        "METRIC is a column of the table, such as test_rmse. The run stops after the first epoch that reaches the value: METRIC<=X or METRIC>=X. Quote it in a shell.",
	"user":               "By name or by number from 1. Without the flag the column is found by its name in the header, or is the first one.",
	"item":               "By name or by number from 1. Without the flag the column is found by its name in the header, or is the second one.",
	"rating":             "By name or by number from 1. Without the flag the column is found by its name in the header, or is the third one.",
	"weight":             "Each row counts by the value of this column in training and in metrics; 0 leaves the row out. For linear and mlr.",
	"train workers": "A compute slot runs one task at a time. auto is one slot for each CPU that this process may use. A:B starts with A slots " +
		"and makes enough splits for B, so that nodes can be added while the job runs.",
	"serve-model look":         "The model is also loaded anew at SIGHUP. With 0 it is loaded anew only then.",
	"serve-model max-requests": "A request beyond the limit gets status 429 and should be sent again.",
	"up etcd":                  "By default the cluster has a registry of its own in the state folder. An etcd cluster survives the loss of a host. docs/9-local-cluster.md says how to protect it.",
	"up etcd-prefix":           "Several clusters can share one etcd if their prefixes differ.",
	"plan at-once":             "Only moves that copy bytes count. Nodes are added one after the other.",
	"plan policy":              "even spreads evenly and moves no more than it must. random, add-one and delete-one draw by --seed, for tests.",
	"plan to":                  "Terms are separated by commas: workers=5,servers=2, or nodes=4, and leave=node-3 for each node that leaves.",
	"plan split-bytes":         "Bytes that move with each split. With 0, the node that receives a split has its bytes already.",
}

// FlagTexts returns a copy of the explanations of flags.
func FlagTexts() map[string]string { return maps.Clone(flagTexts) }
