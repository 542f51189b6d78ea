! SPDX-License-Identifier: Apache-2.0
! Every call of module hvd, on any number of ranks; tests/program/fortran_test.sh compiles and runs
! it. Prints "ok RANK" at the end, or a line that says what is wrong, and ends with 1.
program hvd_fortran
    use hvd
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_double
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
    implicit none
    integer :: rank, nranks, ierr

    call hvd_barrier(ierr)
    call expect(ierr == HVD_ERR_NOT_INITIALIZED, 'a barrier before hvd_init fails')
    call expect(len(hvd_last_error()) > 0, 'hvd_last_error has a text')
    call hvd_init()
    rank = hvd_rank()
    nranks = hvd_size()
    call expect(hvd_is_initialized(), 'hvd_is_initialized')
    call expect(hvd_local_rank() < hvd_local_size() .and. hvd_cross_rank() < hvd_cross_size(), 'local and cross')
    call expect(len(hvd_version()) > 0 .and. len(hvd_strstatus(HVD_ERR_MISMATCH)) > 0, 'texts')
    call reductions()
    call movements()
    call failures()
    call sets()
    call hvd_shutdown(ierr)
    call expect(ierr == HVD_OK, 'hvd_shutdown')
    print '(a, i0)', 'ok ', rank

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        write (error_unit, '(a)') 'hvd_fortran: '//what//' does not hold'
        error stop 1
    end subroutine

    subroutine reductions()
        real(real32) :: scalar, cube(2, 3, 4)
        real(real64) :: matrix(4, 4)
        integer(int32) :: numbers(3)
        integer(int64) :: large(2)
        integer(int64), allocatable :: share(:)
        integer(c_int64_t) :: handle
        real(real32), asynchronous :: vector(1000)
        scalar = real(rank)
        call hvd_allreduce('scalar', scalar, HVD_SUM)
        call expect(nint(scalar) == nranks * (nranks - 1) / 2, 'the sum of a scalar')
        cube = 1
        call hvd_allreduce('cube', cube, HVD_SUM, postscale=0.5_c_double)
        call expect(all(cube == 0.5 * real(nranks)), 'a cube with a factor')
        matrix = 0
        matrix(2, :) = rank
        call hvd_allreduce('a row, which is not contiguous', matrix(2, :), HVD_MAX)
        call expect(all(matrix(2, :) == nranks - 1) .and. all(matrix(1, :) == 0), 'a row of a matrix')
        numbers = [1, 2, rank]
        call hvd_allreduce('', numbers, HVD_MIN, ierr)
        call expect(ierr == HVD_OK .and. all(numbers == [1, 2, 0]), 'a minimum without a name')
        large = 2_int64**40
        call hvd_allreduce('large', large, HVD_MAX)
        call expect(all(large == 2_int64**40), 'integers of 64 bits')

        vector = 1
        call hvd_allreduce_async('vector', vector, HVD_SUM, handle)
        do while (.not. hvd_poll(handle))
        end do
        call hvd_wait(handle)
        call expect(handle == -1 .and. all(vector == real(nranks)), 'an allreduce in the background')
        call hvd_allreduce_async('a row', matrix(2, :), HVD_SUM, handle, ierr)
        call expect(ierr == HVD_ERR_INVALID .and. handle == -1, 'the background takes contiguous arrays only')

        allocate (share(hvd_share(5_int64, nranks, rank)), source=0_int64)
        call hvd_reducescatter('shares', [1_int64, 2_int64, 3_int64, 4_int64, 5_int64], share, HVD_SUM)
        if (rank == 0) call expect(share(1) == nranks, 'the first share')
    end subroutine

    subroutine movements()
        integer(int32) :: grid(2, 2), i
        integer(int32), allocatable :: all_rows(:), came(:)
        integer(c_int64_t), allocatable :: received(:)
        integer(c_int64_t) :: splits(nranks)
        grid = rank
        call hvd_broadcast('grid', grid, nranks - 1)
        call expect(all(grid == nranks - 1), 'a broadcast from the last rank')
        call hvd_allgather('rows', [(rank, i=0, rank)], all_rows)
        call expect(size(all_rows) == nranks * (nranks + 1) / 2, 'an allgather of different sizes')
        call expect(all_rows(size(all_rows)) == nranks - 1, 'the order of an allgather')
        splits = 1
        call hvd_alltoall('letters', [(rank, i=1, nranks)], splits, came, received)
        call expect(all(came == [(i, i=0, nranks - 1)]) .and. all(received == 1), 'an alltoall')
        splits = 0
        splits(1) = 2
        call hvd_alltoall('to the first', [rank, rank], splits, came)
        call expect(size(came) == merge(2 * nranks, 0, rank == 0), 'an alltoall to one rank')
        call hvd_join(i, ierr)
        call expect(ierr == HVD_OK .and. i >= 0 .and. i < nranks, 'a join')
    end subroutine

    subroutine failures()
        real(real32) :: vector(2)
        vector = 1
        call hvd_broadcast('nobody', vector, nranks, ierr)
        call expect(ierr == HVD_ERR_INVALID, 'a root that does not exist')
        if (nranks == 1) return
        call hvd_allreduce('mismatch', vector(:1 + mod(rank, 2)), HVD_SUM, ierr)
        call expect(ierr == HVD_ERR_MISMATCH .and. index(hvd_last_error(), 'mismatch') > 0, 'a mismatch')
        call hvd_barrier()
    end subroutine

    subroutine sets()
        integer(c_int) :: first
        integer(int32) :: one
        if (nranks == 1) return
        first = hvd_add_process_set([0])
        one = 1
        if (rank == 0) call hvd_allreduce('alone', one, HVD_SUM, process_set=first)
        call expect(one == 1, 'a sum over one rank')
        call hvd_remove_process_set(first)
    end subroutine
end program hvd_fortran
