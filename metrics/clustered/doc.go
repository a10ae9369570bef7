// Package clustered finds how uncertain metrics are where rows come in clusters: frames of a video, answers to a prompt, visits of a
// patient. Rows of one cluster depend on each other, clusters do not.
//
// Sums is a metrics.Accumulator. It keeps, for each cluster by its name, the sums of losses of its rows, and how many rows it has at each
// score of a grid. So a cluster may be divided over files, and states merge exactly. The standard error of a mean d over G clusters is that
// of a ratio of sums,
//
//	V = sum_g (T_g - n_g d)^2/(1 - n_g/n) / n^2,   T_g = sum w loss and n_g = sum w over the rows of cluster g,
//
// and Student's distribution gives its interval, with degrees of freedom by the sizes of the clusters: G - 1 if all are of one size
// (Liang and Zeger 1986; Bell and McCaffrey 2002).
package clustered
