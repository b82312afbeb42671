// Compiled to arithmetic.s for gfx950; the command is in README.md.
#define ID ((int)(__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x()))
#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1)))

KERNEL void integer_division(__global int *out, __global const int *a, __global const int *b) {
    int i = ID;
    unsigned x = a[i], y = b[i];
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = x / y;
    out[4 * i + 3] = x % y;
}

KERNEL void long_division(__global long *out, __global const long *a, __global const long *b) {
    int i = ID;
    out[3 * i] = a[i] / b[i];
    out[3 * i + 1] = (ulong)a[i] % (ulong)b[i];
    out[3 * i + 2] = a[i] * b[i];
}

KERNEL void float_division(__global float *out, __global const float *a, __global const float *b) {
    int i = ID;
    out[i] = a[i] / b[i];
}

KERNEL void double_division(__global double *out, __global const double *a,
                            __global const double *b) {
    int i = ID;
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = __builtin_fma(a[i], b[i], a[i]);
}

KERNEL void square_root(__global float *out, __global const float *a) {
    int i = ID;
    out[i] = __builtin_sqrtf(a[i]);
}

// A loop whose trip count differs from lane to lane and from wave to wave.
KERNEL void collatz(__global int *out, __global const int *a) {
    int i = ID, steps = 0;
    unsigned n = a[i];
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        ++steps;
    }
    out[i] = steps;
}

KERNEL void conversions(__global int *out, __global const float *a, __global const int *b) {
    int i = ID;
    out[8 * i] = (int)a[i];
    out[8 * i + 1] = (unsigned)__builtin_fabsf(a[i]);
    out[8 * i + 2] = __builtin_bit_cast(int, (float)b[i]);
    out[8 * i + 3] = __builtin_bit_cast(int, (float)(unsigned)b[i]);
    out[8 * i + 4] = __builtin_bit_cast(int, (float)(long)(0x123456789abcdefL * b[i]));
    out[8 * i + 5] = __builtin_popcount(b[i]) + 100 * __builtin_clz(b[i] | 1) +
                     10000 * __builtin_ctz(b[i] | 0x80000000);
    out[8 * i + 6] = __builtin_bitreverse32(b[i]);
    out[8 * i + 7] = __builtin_bit_cast(short, (_Float16)a[i]);
}

KERNEL void bytes(__global uchar *out, __global const uchar *a, __global const short *b) {
    int i = ID;
    out[4 * i] = a[i] + a[i + 1];
    out[4 * i + 1] = a[i] > a[i + 1] ? a[i] : a[i + 1];
    out[4 * i + 2] = b[i] >> 8;
    out[4 * i + 3] = (uchar)((b[i] * b[i + 1]) >> 16);
}

typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
KERNEL void halves(__global f16x2 *out, __global const f16x2 *a, __global const f16x2 *b) {
    int i = ID;
    out[3 * i] = a[i] * b[i] + a[i];
    out[3 * i + 1] = __builtin_elementwise_max(a[i], b[i]);
    out[3 * i + 2] = a[i].yx - b[i];
}

typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
KERNEL void bfloats(__global bf16x2 *out, __global const float *a, __global const bf16x2 *b) {
    int i = ID;
    bf16x2 packed = {(__bf16)a[2 * i], (__bf16)a[2 * i + 1]};
    out[2 * i] = packed;
    out[2 * i + 1] = packed + b[i];
}

// Sum over the workgroup in LDS, in a tree with barriers.
KERNEL void tree_sum(__global int *out, __global const int *a) {
    __local int part[256];
    int t = __builtin_amdgcn_workitem_id_x();
    part[t] = a[ID];
    for (int step = 128; step > 0; step >>= 1) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) out[__builtin_amdgcn_workgroup_id_x()] = part[0];
}

// Sum over each wave by DPP and by ds_bpermute, prefix by mbcnt, ballot.
KERNEL void wave_sum(__global int *out, __global const int *a) {
    int i = ID, lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)), x = a[i];
    x += __builtin_amdgcn_update_dpp(0, x, 0xB1, 0xF, 0xF, 1);
    x += __builtin_amdgcn_update_dpp(0, x, 0x4E, 0xF, 0xF, 1);
    x += __builtin_amdgcn_update_dpp(0, x, 0x141, 0xF, 0xF, 1);
    x += __builtin_amdgcn_update_dpp(0, x, 0x140, 0xF, 0xF, 1);
    x += __builtin_amdgcn_ds_bpermute(4 * (lane ^ 16), x);
    x += __builtin_amdgcn_ds_bpermute(4 * (lane ^ 32), x);
    unsigned long odd = __builtin_amdgcn_ballot_w64(a[i] & 1);
    out[4 * i] = x;
    out[4 * i + 1] = __builtin_popcountl(odd);
    out[4 * i + 2] = __builtin_amdgcn_readlane(a[i], 5) + __builtin_amdgcn_readfirstlane(a[i]);
    out[4 * i + 3] = __builtin_amdgcn_ds_swizzle(a[i], 0x401F);
}

KERNEL void histogram(__global int *bins, __global const int *a, __global float *total) {
    __local int local_bins[16];
    int t = __builtin_amdgcn_workitem_id_x();
    if (t < 16) local_bins[t] = 0;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    __opencl_atomic_fetch_add((__local atomic_int *)&local_bins[a[ID] & 15], 1,
                              memory_order_relaxed, memory_scope_work_group);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (t < 16)
        __opencl_atomic_fetch_add((__global atomic_int *)&bins[t], local_bins[t],
                                  memory_order_relaxed, memory_scope_device);
    __opencl_atomic_fetch_add((__global atomic_float *)total, (float)(a[ID] & 15),
                              memory_order_relaxed, memory_scope_device);
}

// Indices along three dimensions and the launch size from the hidden arguments.
__kernel __attribute__((reqd_work_group_size(8, 4, 2))) void positions(__global int *out) {
    __constant const unsigned *hidden =
        (__constant const unsigned *)__builtin_amdgcn_implicitarg_ptr();
    int x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    int z = __builtin_amdgcn_workitem_id_z();
    int gx = __builtin_amdgcn_workgroup_id_x() * 8 + x;
    int gy = __builtin_amdgcn_workgroup_id_y() * 4 + y;
    int gz = __builtin_amdgcn_workgroup_id_z() * 2 + z;
    int nx = hidden[0] * 8, ny = hidden[1] * 4;
    out[(gz * ny + gy) * nx + gx] = gx + 1000 * gy + 1000000 * gz + 10000000 * hidden[2];
}
