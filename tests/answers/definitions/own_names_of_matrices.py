def project_qkv(x, Wq, Wk, Wv):
    return x @ Wq, x @ Wk, x @ Wv
