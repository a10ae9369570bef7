package roles_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/predictions/roles"
)

// The columns of a table of two classes: which are the scores, which is the label, and what class a label names.
func Example() {
	columns := []roles.Column{
		{Name: "id", Kind: roles.Text}, {Name: "prob_cat"}, {Name: "prob_dog"}, {Name: "animal", Kind: roles.Text},
	}
	prefix := "prob_"
	b, err := roles.Bind(columns, &roles.Want{Prefix: &prefix, Label: "animal"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b)
	fmt.Println(b.Scores, b.Classes, b.Label)

	class, err := roles.NewLabels(len(b.Classes), b.Classes, "").Class([]byte("dog"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(class)
	// Output:
	// scores prob_cat, prob_dog; label animal
	// [1 2] [cat dog] 3
	// 1
}
